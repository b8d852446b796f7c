package config

import "errors"

// Segments is the report of which beginnings of prompts repeat.
type Segments struct {
	Enabled *bool `yaml:"enabled,omitempty"` // on when absent
	// Excerpt is how many bytes of a segment the report keeps and shows; none when
	// absent.
	Excerpt Count `yaml:"excerpt,omitempty" in:"[1,1000]"`
}

// check refuses an excerpt of a report that there is not.
func (s Segments) check() error {
	if !On(s.Enabled) && s.Excerpt > 0 {
		return errors.New("segments.excerpt of a report that is not made: leave it out, or segments.enabled")
	}
	return nil
}
