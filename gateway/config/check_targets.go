package config

import (
	"errors"
	"fmt"
)

// deployed is what makes two targets the same deployment.
type deployed struct{ provider, model string }

func (m *Model) checkTargets(all *collection) error {
	if len(m.Targets) == 0 {
		return errors.New("targets is empty, expected at least one")
	}
	seen := map[deployed]bool{}
	used, ordinary, open := false, false, false
	for i, t := range m.Targets {
		err := t.check(all)
		switch same := (deployed{t.Provider, t.Model}); {
		case err != nil:
		case seen[same]:
			err = fmt.Errorf("provider %q and model %q are a target already", t.Provider, t.Model)
		case t.WhenSaturated != nil:
			err = errors.New("when_saturated is of fallbacks")
		default:
			seen[same] = true
		}
		if err != nil {
			return at(fmt.Errorf("target %d: %w", i+1, err), "targets", i)
		}
		if t.Share() > 0 {
			used = true
			ordinary = ordinary || !t.Canary
			open = open || t.Flag == ""
		}
	}
	switch {
	case !used:
		return at(errors.New("no target with a weight above zero"), "targets")
	case !ordinary:
		return at(errors.New("every target is a canary: expected one beside it that is none, to compare it with"), "targets")
	case !open:
		return at(errors.New("every target has a flag: expected one without, for requests for which it is off"), "targets")
	}
	return nil
}

func (t *Target) check(all *collection) error {
	if err := all.providers.check(t.Provider); err != nil {
		return at(err, "provider")
	}
	if t.Model == "" {
		return errors.New("model is missing, expected the name that the provider knows")
	}
	if err := checkName(t.Model); err != nil {
		return at(fmt.Errorf("model %w", err), "model")
	}
	if err := all.classes.checkList("classes", t.Classes); err != nil {
		return err
	}
	if t.Flag != "" {
		if err := all.flags.check(t.Flag); err != nil {
			return at(err, "flag")
		}
	}
	if t.USDPer1M.CachedInput != nil && t.USDPer1M.Input == nil {
		return at(errors.New("usd_per_1m.cached_input without usd_per_1m.input"), "usd_per_1m")
	}
	return at(checkCapabilities(t.Capabilities), "capabilities")
}

func checkCapabilities(words []string) error {
	seen := map[string]bool{}
	for i, word := range words {
		switch err := checkName(word); {
		case word == "":
			return fmt.Errorf("capability %d is empty", i+1)
		case err != nil:
			return fmt.Errorf("capability %d %w", i+1, err)
		case seen[word]:
			return fmt.Errorf("capability %q appears twice", word)
		}
		seen[word] = true
	}
	return nil
}

func (m *Model) checkFallback(all *collection) error {
	seen := map[deployed]string{}
	for i, t := range m.Targets {
		seen[deployed{t.Provider, t.Model}] = fmt.Sprintf("target %d", i+1)
	}
	for i, t := range m.Fallback {
		same := deployed{t.Provider, t.Model}
		err := t.check(all)
		switch {
		case err != nil:
		case seen[same] != "":
			err = fmt.Errorf("is %s already, and no target is tried twice", seen[same])
		case t.Weight != nil:
			err = errors.New("weight is of targets: fallbacks are tried in their order")
		case t.Canary:
			err = errors.New("canary is of targets: a fallback has no share of the traffic")
		}
		if err != nil {
			return at(fmt.Errorf("fallback %d: %w", i+1, err), "fallback", i)
		}
		seen[same] = fmt.Sprintf("fallback %d", i+1)
	}
	return nil
}
