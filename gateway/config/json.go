package config

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// fromJSON makes YAML of JSON, line by line, and leaves YAML alone. JSON is nearly
// YAML, but the YAML library takes neither tabs between tokens, nor \/ and pairs of
// surrogates in strings, which encoders of several languages write.
func fromJSON(data []byte) []byte {
	if !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch rest := data[i:]; {
		case rest[0] == '\t':
			out = append(out, ' ')
			i++
		case bytes.HasPrefix(rest, []byte(`\/`)):
			out = append(out, '/')
			i += 2
		case surrogates(rest):
			var s string
			if json.Unmarshal([]byte(`"`+string(rest[:12])+`"`), &s) == nil {
				out = append(out, s...)
			}
			i += 12
		case rest[0] == '\\':
			out = append(out, rest[:2]...)
			i += 2
		default:
			out = append(out, rest[0])
			i++
		}
	}
	return out
}

var pair = regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// surrogates tells whether text begins with a pair of them, which together are one
// character.
func surrogates(text []byte) bool { return text[0] == '\\' && pair.Match(text) }
