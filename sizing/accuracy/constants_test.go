//go:build integration

package accuracy

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/sizing/fit"
)

// TestConstantsAreTheFit makes the shipped constants again from the published
// points, byte for byte.
func TestConstantsAreTheFit(t *testing.T) {
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	points, left, err := Points(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(points) < 150 || len(left) > len(points)/20 {
		t.Fatalf("%d points, %d left out: %v", len(points), len(left), left)
	}
	table, err := fit.Table(points)
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := fit.Write(&made, table); err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("../cost/constants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(shipped), made.String()); diff != "" {
		t.Errorf("sizing/cost/constants.yaml is not what its points give, run make constants (-shipped +made):\n%s", diff)
	}
}
