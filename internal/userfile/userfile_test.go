package userfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(path, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := ReadFS(os.DirFS(dir), "a", 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := Read(path, 4); err == nil || err.Error() != path+" is larger than the 4 B that are read of such a file" {
		t.Error(err)
	}
	if _, err := ReadFS(os.DirFS(dir), "a", 4); err == nil || !strings.Contains(err.Error(), "a is larger than") {
		t.Error(err)
	}
	for _, err := range []error{second(Read(dir, 9)), second(ReadFS(os.DirFS(dir), ".", 9))} {
		if !errors.Is(err, ErrNotRegular) || !strings.HasSuffix(err.Error(), "but a folder") {
			t.Error(err)
		}
	}
	if _, err := Read(filepath.Join(dir, "absent"), 9); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func second(_ []byte, err error) error { return err }

func TestWordsOfJSON(t *testing.T) {
	var v struct {
		Shape []int64        `json:"shape"`
		Deep  map[string]int `json:"deep"`
		On    bool           `json:"on"`
	}
	for text, want := range map[string]string{
		`[]`:                    "decoding JSON: expected an object, got a list",
		`{"shape": "x"}`:        "decoding JSON: shape: expected a list, got text",
		`{"shape": [{}]}`:       "decoding JSON: shape: expected a whole number, got an object",
		`{"shape": [1.5]}`:      "decoding JSON: shape: expected a whole number, got number 1.5",
		`{"deep": {"a": true}}`: "decoding JSON: deep: expected a whole number, got true or false",
		`{"on": 3}`:             "decoding JSON: on: expected true or false, got a number",
		`{"on"`:                 "decoding JSON: unexpected end of JSON input, at byte 5",
	} {
		if err := JSONError(json.Unmarshal([]byte(text), &v)); err.Error() != want {
			t.Errorf("%s: %q, want %q", text, err, want)
		}
	}
}

func TestWordsOfYAML(t *testing.T) {
	type inner struct {
		N int64 `yaml:"n"`
	}
	type outer struct {
		Key   string   `yaml:"key"`
		Rate  float64  `yaml:"rate"`
		On    bool     `yaml:"on"`
		Names []string `yaml:"names"`
		Inner inner    `yaml:"inner"`
	}
	for text, want := range map[string]string{
		"key: a\nnope: 3":     `decoding YAML: line 2: key "nope" is not known`,
		"key: a\nrate: fast":  `decoding YAML: line 2: expected a number, got "fast"`,
		"[1, 2]":              "decoding YAML: line 1: expected keys and values, got a list",
		"on: {}":              "decoding YAML: line 1: expected true or false, got keys and values",
		"names: 3":            `decoding YAML: line 1: expected a list, got "3"`,
		"inner:\n  n: many":   `decoding YAML: line 2: expected a whole number, got "many"`,
		"inner: 4":            `decoding YAML: line 1: expected keys and values, got "4"`,
		"key: a\nkey: b":      `decoding YAML: line 2: mapping key "key" already defined at line 1`,
		"key: a\n---\nkey: b": "line 2: expected one document, found a second",
		"key: \"a":            "decoding YAML: found unexpected end of stream",
	} {
		var v outer
		if err := DecodeYAML([]byte(text), &v); err == nil || err.Error() != want {
			t.Errorf("%q: %q, want %q", text, err, want)
		}
	}
	var v outer
	if err := DecodeYAML([]byte("key: a\n---\n"), &v); err == nil {
		t.Error("an empty second document is accepted")
	}
	for _, text := range []string{"", "key: a\nrate: 3\n...\n"} {
		if err := DecodeYAML([]byte(text), &v); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
