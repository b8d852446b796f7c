package config

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

func (c *Config) checkFlags(all *collection) error {
	for i, f := range c.Flags {
		if err := all.tenants.checkList("tenants", f.Tenants); err != nil {
			return at(fmt.Errorf("flag %q: %w", f.Name, err), "flags", i)
		}
	}
	return nil
}

// Kinds of filters, and what they look at.
const (
	FilterKeyword = "keyword"
	FilterRegex   = "regex"

	OnInput  = "input"
	OnOutput = "output"
	OnBoth   = "both"
)

func (c *Config) checkFilters(*collection) error {
	for i, f := range c.Filters {
		if err := f.check(); err != nil {
			return at(fmt.Errorf("filter %q: %w", f.Name, err), "filters", i)
		}
	}
	return nil
}

func (f *Filter) check() error {
	if err := choice("on", f.On, OnInput, OnOutput, OnBoth); err != nil {
		return err
	}
	if err := checkMessage(f.Message); err != nil {
		return at(err, "message")
	}
	switch f.Kind {
	case FilterKeyword:
		return at(f.checkWords(), "words")
	case FilterRegex:
		return at(f.checkPattern(), "pattern")
	case "":
		return fmt.Errorf("kind is missing, expected %s or %s", FilterKeyword, FilterRegex)
	}
	return choice("kind", f.Kind, FilterKeyword, FilterRegex)
}

func (f *Filter) checkWords() error {
	if f.Pattern != "" {
		return fmt.Errorf("pattern is for kind %s, a %s filter has words", FilterRegex, FilterKeyword)
	}
	if len(f.Words) == 0 {
		return errors.New("words is missing, expected at least one")
	}
	seen := map[string]bool{}
	for i, w := range f.Words {
		key := strings.ToLower(strings.TrimSpace(w))
		if key == "" {
			return fmt.Errorf("word %d is empty, and would be in every text", i+1)
		}
		if seen[key] {
			return fmt.Errorf("word %d appears twice", i+1)
		}
		seen[key] = true
	}
	return nil
}

// checkPattern names what is wrong with a pattern without quoting it, since it may
// be long and of several lines.
func (f *Filter) checkPattern() error {
	if len(f.Words) > 0 {
		return fmt.Errorf("words are for kind %s, a %s filter has a pattern", FilterKeyword, FilterRegex)
	}
	if f.Pattern == "" {
		return errors.New("pattern is missing, expected a regular expression (RE2)")
	}
	re, err := regexp.Compile(f.Pattern)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return fmt.Errorf("pattern: %s near %q, expected a regular expression (RE2)", wrong.Code, shortened(wrong.Expr))
	}
	if err != nil {
		return errors.New("pattern: expected a regular expression (RE2)")
	}
	if re.MatchString("") {
		return errors.New("pattern matches the empty text, and so every request")
	}
	return nil
}

func checkMessage(s string) error {
	const most = 500
	if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("message must be one line of up to %d printable bytes", most)
	}
	return nil
}
