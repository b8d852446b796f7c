package config

import "fmt"

// maxExcerpt is the most that a report may quote of a prompt's segment, bytes.
const maxExcerpt = 1000

// Segments is the report of which beginnings of prompts repeat.
type Segments struct {
	Enabled *bool `yaml:"enabled,omitempty"` // on when absent
	// Excerpt is how many bytes of a segment the report keeps and shows; none when
	// absent.
	Excerpt Count `yaml:"excerpt,omitempty"`
}

func (s Segments) check() error {
	if s.Excerpt > maxExcerpt {
		return fmt.Errorf("segments.excerpt: %d is above %d", s.Excerpt, maxExcerpt)
	}
	return nil
}
