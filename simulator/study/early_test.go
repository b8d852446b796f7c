package study

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/simulator"
)

// TestFull: a run that memory may not hold is ended, whoever wants to see all of it.
func TestFull(t *testing.T) {
	e := &earlyEnd{study: &Study{}}
	p := simulator.Progress{Now: time.Second, Sent: 2 * mostOpen, Open: mostOpen}
	if order := e.order(p); order != simulator.GoOn {
		t.Errorf("with as many as there may be: order %v", order)
	}
	p.Open++
	if order := e.order(p); order != simulator.EndAll {
		t.Errorf("with one more: order %v", order)
	}
	if len(e.warnings) != 1 || !strings.Contains(e.warnings[0].Text, "were in flight") {
		t.Errorf("warnings %v", e.warnings)
	}
}
