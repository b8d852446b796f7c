package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// checkText refuses what is no text, and what looks like YAML to the eye alone.
func checkText(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return errors.New("is UTF-16, expected YAML or JSON in UTF-8: save it as UTF-8")
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return errors.New("is compressed by gzip, expected YAML or JSON in UTF-8: unpack it first")
	case !utf8.Valid(data) || bytes.ContainsFunc(data, control):
		return errors.New("is no text, expected YAML or JSON in UTF-8")
	}
	return nil
}

// control is true for characters that YAML does not take.
func control(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }

// advised is what the YAML library says about typing errors, and what they are
// mended by. It is matched as a part of the library's message.
var advised = []struct{ says, advice string }{
	{"found unexpected end of stream", "a quote is not closed"},
	{"did not find expected ',' or '}'", "a { is not closed, or a comma is missing behind an entry"},
	{"did not find expected ',' or ']'", "a [ is not closed, or a comma is missing behind an entry"},
	{"did not find expected '-' indicator", "the indentation changes within a list: its dashes, and the keys of one entry, each stand in one column"},
	{"did not find expected key", "the indentation changes among keys that belong together: they stand in one column"},
	{"mapping values are not allowed", "a colon where none fits: either this line is indented further than those beside it, or the one above lacks its \": \" or a quote around text with a colon"},
	{"could not find expected ':'", "a key without its \": \""},
	{"found character that cannot start any token", "text that begins with @, ` or % needs quotes around it"},
	{"did not find expected alphabetic or numeric character", "text that begins with * or & needs quotes around it"},
	{"found unknown escape character", "within \"double quotes\" a backslash begins an escape: use 'single quotes'"},
	{"exceeded max depth", "lists and mappings lie too deep within each other"},
}

const noAnchors = "anchors and aliases are not supported: write the value out where it is needed"

var yamlLine = regexp.MustCompile(`^line (\d+): (.*)`)

// syntaxError words an error of the YAML library for who wrote the file.
func syntaxError(err error, data []byte) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	number := 1 // the library names no line on the first
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		number, _ = strconv.Atoi(m[1]) // of digits
		text = m[2]
	}
	near := fmt.Sprintf("near line %d: ", number)
	if strings.Contains(text, "unknown anchor") { // of which the library never tells the line
		return errors.New(noAnchors)
	}
	if wrong := jsonError(data); wrong != nil {
		return wrong
	}
	tab := strings.Contains(text, "tab character") || strings.Contains(text, "cannot start any token")
	if at := tabLine(data); tab && at > 0 {
		return fmt.Errorf("line %d: indented with a tab, and YAML takes only spaces there", at)
	}
	if at := variableLine(data, number); at > 0 {
		return fmt.Errorf("line %d: %s", at, unfilledAdvice)
	}
	for _, a := range advised {
		if strings.Contains(text, a.says) {
			return fmt.Errorf("%s%s (%s)", near, a.advice, text)
		}
	}
	return errors.New(near + text)
}

// kindError is what the library says of a value that it cannot convert. It quotes
// the value, which may be a key, so that of its words only the line remains.
func kindError(err error) error {
	where := ""
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		if m := yamlLine.FindStringSubmatch(several.Errors[0]); m != nil {
			where = "line " + m[1] + ": "
		}
	}
	return errors.New(where + "a value is of another kind than its key has")
}

// jsonError is what is wrong with a text that wants to be JSON, nil for others.
func jsonError(data []byte) error {
	trimmed := bytes.TrimSpace(data)
	if !bytes.HasPrefix(trimmed, []byte("{")) || !bytes.HasPrefix(bytes.TrimSpace(trimmed[1:]), []byte(`"`)) {
		return nil
	}
	wrong, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, new(any)))
	if !ok {
		return nil
	}
	line := 1 + bytes.Count(data[:min(int(wrong.Offset), len(data))], []byte("\n"))
	return fmt.Errorf("line %d: JSON: %w", line, wrong)
}

// variableLine is the line of a variable in ${ } at or beside the line that an error
// of the YAML library is about, 0 without one: within [ ] and { } its braces are
// those of a mapping, so that no value is seen that could be refused.
func variableLine(data []byte, near int) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if n >= near-1 && n <= near+1 && unquoted.Match(line) {
			return n
		}
	}
	return 0
}

// unquoted matches a variable in ${ } that stands in no quotes, nor in a comment.
var unquoted = regexp.MustCompile(`^[^'"#]*\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// tabLine is the first line that a tab indents, 0 without one.
func tabLine(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		rest := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(rest)) > 0 && rest[0] == '\t' {
			return n
		}
	}
	return 0
}
