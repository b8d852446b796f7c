package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// valid scans a whole document.
func valid(data []byte) bool {
	s := New(data)
	s.Skip()
	s.End()
	return !s.Bad()
}

func FuzzGrammar(f *testing.F) {
	for _, text := range []string{`{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"]}`, `[]`, `{}`, ` 0 `, `01`, `{"a":1,}`, `[1 2]`, `"\x"`, "\"\x01\"", `-`, `1.`, `nul`, `{"a"}`, `[1]]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := valid(data), json.Valid(data); got != want {
			t.Errorf("%q is valid: %v, encoding/json says %v", data, got, want)
		}
	})
}

func TestDepth(t *testing.T) {
	for levels, want := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		if got := valid([]byte(strings.Repeat("[", levels) + strings.Repeat("]", levels))); got != want {
			t.Errorf("%d levels are valid: %v, want %v", levels, got, want)
		}
	}
}

func TestErr(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		read       func(*Scanner)
		want       string
	}{
		{"object", ` [`, (*Scanner).Object, "unexpected '[' at byte 1, expected '{'"},
		{"array", `1`, (*Scanner).Array, "unexpected '1' at byte 0, expected '['"},
		{"string", `1`, func(s *Scanner) { s.String() }, "unexpected '1' at byte 0, expected a string"},
		{"number", `"1"`, func(s *Scanner) { s.Number() }, `unexpected '"' at byte 0, expected a number`},
		{"digit", `-x`, func(s *Scanner) { s.Number() }, "unexpected 'x' at byte 1, expected a digit"},
		{"boolean", `null`, func(s *Scanner) { s.Bool() }, "unexpected 'n' at byte 0, expected true or false"},
		{"word", `tru`, func(s *Scanner) { s.Bool() }, "unexpected 't' at byte 0, expected true"},
		{"end", `1 2`, func(s *Scanner) { s.Skip(); s.End() }, "unexpected '2' at byte 2, expected the end"},
		{"cut", `{"a":`, (*Scanner).Skip, "ends at byte 5, expected a value"},
		{"meaning", `1`, func(s *Scanner) { s.Fail(errors.New("too small")); s.Object() }, "too small"},
		{"none", `{"a":[1,true,"x"]}`, func(s *Scanner) { s.Skip(); s.End() }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := New([]byte(tc.text))
			tc.read(&s)
			switch err := s.Err(); {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || err.Error() != tc.want):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	s := New([]byte(`{"n\u0061me": "a\"b", "n": -1.5e3, "yes": true, "no": false, "count": 7, "none": -7, "raw": [1, 2], "empty": {}, "full": [0]}`))
	s.Object()
	got := map[string]any{}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch name := string(key); name {
		case "name":
			got[name] = string(AppendUnquoted(nil, s.String()))
		case "n":
			got[name] = string(s.Number())
		case "yes", "no":
			got[name] = s.Bool()
		case "count", "none":
			_, got[name] = s.Count().Value()
		case "raw":
			got[name] = string(s.Value())
		case "empty", "full":
			got[name] = s.Filled()
		default:
			t.Errorf("key %q", name)
		}
	}
	s.End()
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	for name, want := range map[string]any{"name": `a"b`, "n": "-1.5e3", "yes": true, "no": false, "count": true, "none": false, "raw": "[1, 2]", "empty": false, "full": true} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}
