package jinja

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var corpus = flag.String("corpus", "testdata", "folder with templates/*.jinja and the goldens.json that goldens.py made of them")

// golden is what Python's jinja2 made of a template: a text, or an error.
type golden struct {
	Text  *string
	Error string
}

// present is the time at which goldens.py rendered.
var present = time.Date(2026, 7, 4, 9, 8, 7, 0, time.UTC)

func readCases(t *testing.T) (names []string, variables []map[string]Value) {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []map[string]json.RawMessage
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		v := map[string]Value{
			"bos_token": Trusted("<s>"), "eos_token": Trusted("</s>"),
			"tools": nil, "documents": nil, "add_generation_prompt": true,
		}
		for key, data := range c {
			value, err := FromJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			switch key {
			case "name":
				names = append(names, value.(Text).String())
			case "extra":
				for _, k := range value.(*Dict).keys {
					v[k.(Text).s] = value.(*Dict).at(k)
				}
			default:
				v[key] = value
			}
		}
		variables = append(variables, v)
	}
	return names, variables
}

// TestRealTemplatesRenderAsInPython: the same text to the byte; where Python fails,
// so do we, with the same words where the template chose them.
func TestRealTemplatesRenderAsInPython(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(*corpus, "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var goldens map[string]map[string]golden
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&goldens); err != nil {
		t.Fatal(err)
	}
	names, variables := readCases(t)
	for file, byCase := range goldens {
		source, err := os.ReadFile(filepath.Join(*corpus, "templates", file))
		if err != nil {
			t.Fatal(err)
		}
		template, broken := Parse(string(source))
		for i, name := range names {
			t.Run(file+"/"+name, func(t *testing.T) { compareGolden(t, template, broken, variables[i], byCase[name]) })
		}
	}
}

func compareGolden(t *testing.T, template *Template, err error, variables map[string]Value, want golden) {
	var text Text
	if err == nil {
		text, err = template.Render(variables, present)
	}
	switch message, raised := strings.CutPrefix(want.Error, "TemplateError: "); {
	case want.Text == nil && err == nil:
		t.Errorf("rendered %q, Python fails: %s", text, want.Error)
	case want.Text == nil && raised && err.Error() != message:
		t.Errorf("error %q, Python raises %q", err, message)
	case want.Text == nil:
		t.Logf("error %q, as in Python: %s", err, want.Error)
	case err != nil:
		t.Errorf("error %q, Python renders %q", err, *want.Text)
	case text.String() != *want.Text:
		got, at := text.String(), 0
		for at < min(len(got), len(*want.Text)) && got[at] == (*want.Text)[at] {
			at++
		}
		from := max(0, at-40)
		t.Errorf("differs at byte %d:\n got %q\nwant %q", at, got[from:min(len(got), at+60)], (*want.Text)[from:min(len(*want.Text), at+60)])
	}
}
