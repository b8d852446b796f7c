package cache

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting is the deepest document that is given a canonical form. Sorting
// copies each level once, so the bound keeps hostile documents cheap; requests
// with deeper schemas are simply not cached.
const maxNesting = 64

// Canonical appends the canonical form of a JSON document to dst. Two documents
// have the same form exactly when they hold the same values: the order of keys,
// white space and the way characters are escaped make no difference, anything
// else does. Numbers count as written, so 1 and 1.0 differ, and so do documents
// in which a key appears twice in another order: readers disagree on which one
// counts. Keys of the outermost object for which skip returns true are left out;
// skip may be nil.
//
// The form is binary: each value is tagged and each string has its length before
// it, so that no text can pass for structure. ok is false for what is not valid
// JSON in UTF-8, or is nested more than 64 levels deep.
func Canonical(dst, document []byte, skip func(key []byte) bool) (out []byte, ok bool) {
	if !utf8.Valid(document) {
		return dst, false
	}
	c := canonicaliser{in: document, out: dst, skip: skip}
	if !c.value(0) {
		return dst, false
	}
	c.space()
	if c.pos != len(c.in) {
		return dst, false
	}
	return c.out, true
}

type canonicaliser struct {
	in   []byte
	pos  int
	out  []byte
	skip func([]byte) bool
}

func (c *canonicaliser) space() {
	for c.pos < len(c.in) && bytes.IndexByte([]byte(" \t\r\n"), c.in[c.pos]) >= 0 {
		c.pos++
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (c *canonicaliser) next() byte {
	c.space()
	if c.pos == len(c.in) {
		return 0
	}
	return c.in[c.pos]
}

// take steps over the byte b.
func (c *canonicaliser) take(b byte) bool {
	if c.next() != b {
		return false
	}
	c.pos++
	return true
}

func (c *canonicaliser) value(depth int) bool {
	if depth > maxNesting {
		return false
	}
	switch b := c.next(); b {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	case '"':
		c.out = append(c.out, 's')
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		return c.number()
	}
}

func (c *canonicaliser) literal(word string) bool {
	if !bytes.HasPrefix(c.in[c.pos:], []byte(word)) {
		return false
	}
	c.pos += len(word)
	c.out = append(c.out, word[0])
	return true
}

// number takes a number as it is written.
func (c *canonicaliser) number() bool {
	start := c.pos
	for c.pos < len(c.in) && bytes.IndexByte([]byte("+-.0123456789Ee"), c.in[c.pos]) >= 0 {
		c.pos++
	}
	text := c.in[start:c.pos]
	if !isNumber(text) {
		return false
	}
	c.out = append(c.out, 'd')
	c.out = binary.AppendUvarint(c.out, uint64(len(text)))
	c.out = append(c.out, text...)
	return true
}

// isNumber checks the grammar of RFC 8259, section 6.
func isNumber(s []byte) bool {
	s = bytes.TrimPrefix(s, []byte("-"))
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' || !digits() {
		return false
	}
	if len(s) > 0 && s[0] == '.' {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if len(s) > 0 && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return digits() && len(s) == 0
	}
	return len(s) == 0
}

func (c *canonicaliser) array(depth int) bool {
	c.pos++
	c.out = append(c.out, '[')
	if c.take(']') {
		c.out = append(c.out, ']')
		return true
	}
	for {
		if !c.value(depth + 1) {
			return false
		}
		if c.take(']') {
			c.out = append(c.out, ']')
			return true
		}
		if !c.take(',') {
			return false
		}
	}
}

// member is the form of one key with its value, as a range of the output.
type member struct {
	key        []byte
	start, end int
}

func (c *canonicaliser) object(depth int) bool {
	c.pos++
	c.out = append(c.out, '{')
	begin := len(c.out)
	var members []member
	for !c.take('}') {
		if len(members) > 0 && !c.take(',') || c.next() != '"' {
			return false
		}
		start := len(c.out)
		if !c.string() {
			return false
		}
		_, n := binary.Uvarint(c.out[start:])
		// Later appends may move the output, so the key is kept by a copy.
		key := bytes.Clone(c.out[start+n:])
		if !c.take(':') || !c.value(depth+1) {
			return false
		}
		members = append(members, member{key: key, start: start, end: len(c.out)})
	}
	c.sort(begin, members, depth)
	c.out = append(c.out, '}')
	return true
}

// sort puts the members of an object in the order of their keys, and leaves out
// those of the outermost one that are to be skipped.
func (c *canonicaliser) sort(begin int, members []member, depth int) {
	byKey := func(a, b member) int { return bytes.Compare(a.key, b.key) }
	skips := depth == 0 && c.skip != nil
	if !skips && slices.IsSortedFunc(members, byKey) {
		return
	}
	slices.SortStableFunc(members, byKey)
	written := bytes.Clone(c.out[begin:])
	c.out = c.out[:begin]
	for _, m := range members {
		if skips && c.skip(m.key) {
			continue
		}
		c.out = append(c.out, written[m.start-begin:m.end-begin]...)
	}
}

// string appends the decoded string at the position, with its length before it.
func (c *canonicaliser) string() bool {
	c.pos++
	end := c.pos
	escaped := false
	for ; end < len(c.in) && c.in[end] != '"'; end++ {
		if c.in[end] < ' ' {
			return false
		}
		if c.in[end] == '\\' {
			escaped = true
			end++
		}
	}
	if end >= len(c.in) {
		return false
	}
	text := c.in[c.pos:end]
	c.pos = end + 1
	if escaped {
		var ok bool
		if text, ok = unescape(text); !ok {
			return false
		}
	}
	c.out = binary.AppendUvarint(c.out, uint64(len(text)))
	c.out = append(c.out, text...)
	return true
}

// unescape decodes a string. Half of a surrogate pair, which no valid UTF-8 can
// hold, is written as the three bytes that UTF-8's scheme gives it, so that it
// equals only itself.
func unescape(text []byte) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		plain := bytes.IndexByte(text[i:], '\\')
		if plain < 0 {
			return append(out, text[i:]...), true
		}
		out = append(out, text[i:i+plain]...)
		i += plain + 1
		switch text[i] {
		case '"', '\\', '/':
			out = append(out, text[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(text[i+1:])
			if !ok {
				return nil, false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				if len(text) > i+2 && text[i+1] == '\\' && text[i+2] == 'u' {
					low, ok := hex4(text[i+3:])
					if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
						out = utf8.AppendRune(out, pair)
						i += 6
						continue
					}
				}
				out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
				continue
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, false
		}
	}
	return out, true
}

func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(text[:4]), 16, 16)
	return rune(v), err == nil
}
