package profiles

import (
	"fmt"
	"strings"
)

// parseSection reads a section that is written in one word:
//
//	section = "off" | [ lead [ ":" ] ] [ key "=" value { "," key "=" value } ]
//
// such as tokens=4,acceptance=0.7 or queue_depth:target=4,max=8. The section is
// empty beforehand.
func parseSection(text string, s section) error {
	f := s.form()
	text = strings.TrimSpace(text)
	if f.off && text == "off" {
		return nil
	}
	err := setPairs(text, s)
	if err == nil {
		err = s.Validate()
	}
	return wrapParse(f.what, text, err)
}

// setPairs sets the slots that a text names, and leaves the others.
func setPairs(text string, s section) error {
	slots := s.slots()
	if s.form().lead {
		lead, rest, more := strings.Cut(text, ":")
		if !strings.Contains(lead, "=") {
			if err := slots[0].set(lead); err != nil {
				return err
			}
			if !more {
				return nil
			}
			text = rest
		}
	}
	return eachPair(text, func(name, value string) error {
		slot, err := findSlot(name, s.form().what, slots)
		if err != nil {
			return err
		}
		if err := slot.set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func findSlot(name, what string, slots []slot) (slot, error) {
	var known []string
	for _, s := range slots {
		if s.name == name {
			return s, nil
		}
		if _, ok := s.to.(nested); !ok {
			known = append(known, s.name)
		}
	}
	return slot{}, unknown("key", name, known, "expected one of "+strings.Join(known, ", ")+" in "+what)
}

// sectionText writes a section without nested ones as parseSection reads it.
func sectionText(s section) string {
	lead, pairs := "", []string{}
	for i, slot := range s.slots() {
		switch {
		case !slot.said():
		case i == 0 && s.form().lead:
			lead = slot.text()
		default:
			pairs = append(pairs, slot.name+"="+slot.text())
		}
	}
	switch text := strings.Join(pairs, ","); {
	case lead == "" && text == "" && s.form().off:
		return "off"
	case lead == "" || text == "":
		return lead + text
	default:
		return lead + ":" + text
	}
}
