package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/profiles"
)

// names are what the entries of one list are called, for references to them.
type names struct {
	kind string // what one is, in errors
	list []string
	has  map[string]bool
}

// namesOf collects the names of a list, and refuses those that are missing, taken
// or unfit.
func namesOf[T any](kind, list, key string, entries []T, name func(T) string) (names, error) {
	n := names{kind: kind, has: map[string]bool{}}
	for i, e := range entries {
		text := name(e)
		if text == "" {
			return n, at(fmt.Errorf("%s entry %d has no %s", list, i+1, key), list, i)
		}
		if err := checkName(text); err != nil {
			return n, at(fmt.Errorf("%s entry %d: %s %w", list, i+1, key, err), list, i, key)
		}
		if n.has[text] {
			return n, at(fmt.Errorf("%s: %s %q appears twice", list, key, text), list, i, key)
		}
		n.has[text] = true
		n.list = append(n.list, text)
	}
	return n, nil
}

// checkName refuses names that are unfit for a log line and a metric label.
func checkName(s string) error {
	if len(s) > 128 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) {
		return errors.New("must be up to 128 printable characters without spaces")
	}
	return nil
}

// check refuses a reference to nothing.
func (n names) check(name string) error {
	switch {
	case n.has[name]:
		return nil
	case name == "":
		return fmt.Errorf("the %s is missing", n.kind)
	case len(n.list) == 0:
		return fmt.Errorf("unknown %s %q, the configuration has none", n.kind, shortened(name))
	}
	return unknown(n.kind, name, n.list)
}

// checkList refuses a list of references that is empty but there, or names
// something twice. Absent ones mean all, so empty ones would look like none.
func (n names) checkList(key string, list []string) error {
	if list != nil && len(list) == 0 {
		return at(fmt.Errorf("%s is empty: list some, or leave it out to allow all", key), key)
	}
	seen := map[string]bool{}
	for i, name := range list {
		if err := n.check(name); err != nil {
			return at(err, key, i)
		}
		if seen[name] {
			return at(fmt.Errorf("%s: %q appears twice", key, name), key, i)
		}
		seen[name] = true
	}
	return nil
}

// choice refuses a value that is none of those there are. Absent is fine.
func choice(key, value string, known ...string) error {
	if value == "" {
		return nil
	}
	for _, k := range known {
		if k == value {
			return nil
		}
	}
	return keyed(key, unknown(key, value, known))
}

func unknown(kind, name string, known []string) error {
	if near := profiles.DidYouMean(name, known); near != "" {
		return fmt.Errorf("unknown %s %q%s", kind, shortened(name), near)
	}
	const most = 20
	list := strings.Join(known[:min(len(known), most)], ", ")
	if len(known) > most {
		list += fmt.Sprintf(" and %d more", len(known)-most)
	}
	return fmt.Errorf("unknown %s %q, known: %s", kind, shortened(name), list)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkVariable refuses what cannot be the name of an environment variable, or
// looks like a key, without quoting it: people put the key itself there. The key
// path is written with dots.
func checkVariable(key, name string) error {
	if name == "" || variableName.MatchString(name) && !likeSecret(name) {
		return nil
	}
	return keyed(key, fmt.Errorf("%s: expected the name of an environment variable, bare like VENDOR_KEY, and not the key itself", key))
}

// likeSecret tells keys that could be names, such as gsk_… and hf_…, from names:
// they are long and have digits and small letters, or are longer than any name.
func likeSecret(name string) bool {
	mixed := strings.ContainsAny(name, "0123456789") && strings.ToUpper(name) != name
	return len(name) >= 20 && mixed || len(name) > 128
}
