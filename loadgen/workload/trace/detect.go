package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// detect tells the format by the keys of the first object, or by the header.
func detect(in *bufio.Reader) (string, error) {
	head, _ := in.Peek(sniffed) // fewer bytes are the whole file
	start := bytes.TrimLeft(head, " \t\r\n")
	if len(start) == 0 {
		return "", errEmpty
	}
	if start[0] != '{' && start[0] != '[' {
		return detectTable(start)
	}
	keys := firstKeys(start)
	for _, known := range []struct {
		format string
		keys   []string
	}{
		{"sharegpt", []string{"conversations", "conversation"}},
		{"mooncake", []string{"hash_ids", "input_length", "text_input"}},
		{"bodies", []string{"body", "messages", "prompt", "input"}},
	} {
		for _, key := range known.keys {
			if slices.Contains(keys, key) {
				return known.format, nil
			}
		}
	}
	return "", fmt.Errorf("it is none of the formats %s: the first object has the keys %.200q; name the format if it is one of them",
		strings.Join(Formats(), ", "), strings.Join(keys, ", "))
}

func detectTable(start []byte) (string, error) {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	var t table
	if !t.split(bytes.TrimSpace(line)) {
		t.fields = nil
	}
	t.names = t.fields
	has := func(name string) bool { _, err := t.column(name); return err == nil }
	switch {
	case has("ContextTokens"), has("GeneratedTokens"):
		return "azure", nil
	case has("Request tokens"), has("Response tokens"):
		return "burstgpt", nil
	}
	return "", fmt.Errorf("it is none of the formats %s: the first line is %.100q; tables begin with a header such as TIMESTAMP,ContextTokens,GeneratedTokens",
		strings.Join(Formats(), ", "), line)
}

// firstKeys returns the keys of the first object, which may be inside an array,
// as far as the bytes go.
func firstKeys(head []byte) (keys []string) {
	decoder := json.NewDecoder(bytes.NewReader(head))
	depth, key := 0, false // within the object; whether a key is next
	for {
		token, err := decoder.Token()
		if err != nil {
			return keys
		}
		switch v := token.(type) {
		case json.Delim:
			switch {
			case depth == 0 && v == '[':
				continue
			case v == '{' || v == '[':
				depth++
				key = depth == 1
				continue
			}
			if depth--; depth <= 0 {
				return keys
			}
			key = depth == 1
		case string:
			if depth == 1 && key {
				keys = append(keys, v)
				key = false
				continue
			}
			key = depth == 1
		default:
			key = depth == 1
		}
	}
}
