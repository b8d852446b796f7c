package sizing

import (
	"fmt"
	"slices"
)

// prefixCachingModes are what Request.PrefixCaching may say; empty is auto.
var prefixCachingModes = []string{"", "auto", "on", "off"}

// resolvePrefixCaching settles whether the engine keeps the blocks of prompts for
// requests that begin alike: as said, else as its version does by default for
// models that only attend and for models with states.
func (s *situation) resolvePrefixCaching(r Request) error {
	if !slices.Contains(prefixCachingModes, r.PrefixCaching) {
		return fmt.Errorf("--prefix-caching %q is not one of auto, on, off", r.PrefixCaching)
	}
	states, e := s.model.HasStates(), s.engine
	on := e.PrefixCaching.Attention
	if states {
		on = e.PrefixCaching.States
	}
	switch r.PrefixCaching {
	case "on":
		on = true
	case "off":
		on = false
	default:
		s.assume("prefix caching", map[bool]string{true: "on", false: "off"}[on], "--prefix-caching")
	}
	if on && states && e.CachedStateBlocks == 0 {
		s.warn("prefix-caching-states", "%s caches no prefixes of models that keep a state per sequence: the plan counts none", e)
		on = false
	}
	s.inputs.PrefixCaching = on
	return nil
}

// stateBlocks is how many blocks a request holds for each group of layers with
// a state: with prefix caching the running state beside the one that is kept.
func (s *situation) stateBlocks() int {
	if s.inputs.PrefixCaching {
		return s.engine.CachedStateBlocks
	}
	return s.engine.StateBlocks
}

// warnOfPrefixCaching says that a shared prefix is computed again for each request.
func (s *situation) warnOfPrefixCaching() {
	if s.workload.Prefix.Groups > 0 && !s.inputs.PrefixCaching {
		s.warn("prefix-caching-off", "prefix caching is off: the plan counts no hits on the shared prefixes of the workload; start the engine with it and plan with --prefix-caching on")
	}
}
