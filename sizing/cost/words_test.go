package cost

import "testing"

// TestCalibrationErrors: they are in terms of the file.
func TestCalibrationErrors(t *testing.T) {
	for text, want := range map[string]string{
		"3":                        `decoding YAML: line 1: expected a list, got "3"`,
		"a: 1":                     "decoding YAML: line 1: expected a list, got keys and values",
		"- 4":                      `decoding YAML: line 1: expected keys and values, got "4"`,
		"- {nope: 1}":              `decoding YAML: line 1: key "nope" is not known`,
		"- {moe: 7}":               `decoding YAML: line 1: expected true or false, got "7"`,
		"- {constants: {a: text}}": `decoding YAML: line 1: expected a number, got "text"`,
		"- {moe: true}\n---\n- {}": "line 2: expected one document, found a second",
		"":                         "the file has no entries",
	} {
		if _, err := ParseCalibration([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
