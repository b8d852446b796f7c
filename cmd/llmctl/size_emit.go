package main

import (
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/handover"
)

// emitFlag is --emit: what to write a plan as instead of a table.
type emitFlag struct{ target handover.Target }

// String implements pflag.Value.
func (e *emitFlag) String() string { return string(e.target) }

// Type implements pflag.Value.
func (e *emitFlag) Type() string { return "target" }

// Set implements pflag.Value.
func (e *emitFlag) Set(name string) (err error) {
	e.target, err = handover.ParseTarget(name)
	return err
}

// check refuses what contradicts --emit.
func (e *emitFlag) check(output outputFlag, explain bool) error {
	if e.target != "" && (explain || !output.table()) {
		return errors.New("--emit takes the place of the table: leave out --explain and --output")
	}
	return nil
}

// write puts a feasible plan out as the target; the plan's warnings, which have
// no place there, go to standard error.
func (e *emitFlag) write(s *iostreams.IO, plan *sizing.Plan, ref string) error {
	model, err := profiles.LoadModel(ref)
	if err != nil {
		return usage(err)
	}
	text, err := handover.Write(handover.Deployment{Plan: plan, Model: model, Ref: ref}, e.target)
	if err != nil {
		return usage(fmt.Errorf("--emit %s: %w", e.target, err))
	}
	for _, w := range plan.Warnings {
		if err := reports.WriteParagraph(s.Err, "warning: ", w.Text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(s.Out, text)
	return err
}
