package servermetrics

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
)

// wanted are the plain names of all metrics of the tables.
var wanted = func() map[string]bool {
	set := map[string]bool{}
	add := func(name string) {
		base, _, _, _ := splitName(name)
		set[plain(base)] = true
	}
	for _, table := range []map[string][]string{numberNames, timingNames} {
		for _, names := range slices.Sorted(maps.Keys(table)) {
			for _, name := range table[names] {
				add(name)
			}
		}
	}
	for _, f := range finished {
		add(f.name)
	}
	for _, k := range kvBlocks {
		add(k.used)
		add(k.all)
	}
	return set
}()

// onlyWanted reads a page without the lines of metrics that no table names. A
// page has many more than those, and parsing a line costs far more than passing
// it over, on the machine that has a schedule to keep. What begins like no line
// of a page stays, for the parser to refuse.
func onlyWanted(r io.Reader) (io.Reader, error) {
	page, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(page) {
		if name, ok := nameOf(line); !ok || isWanted(name) {
			out.Write(line)
			if line[len(line)-1] != '\n' {
				out.WriteByte('\n')
			}
		}
	}
	return &out, nil
}

// nameOf is the metric that a line is about; ok is false when it is about none.
func nameOf(line []byte) (name string, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	if rest, comment := bytes.CutPrefix(line, []byte("#")); comment {
		fields := bytes.Fields(rest[:min(len(rest), 512)])
		if len(fields) < 2 || string(fields[0]) != "TYPE" {
			return "", true // HELP and other comments tell nothing
		}
		return string(fields[1]), true
	}
	end := bytes.IndexFunc(line, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != ':'
	})
	if end <= 0 {
		return "", len(bytes.TrimSpace(line)) == 0
	}
	return string(line[:end]), true
}

func isWanted(name string) bool {
	if wanted[plain(name)] {
		return true
	}
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && wanted[plain(base)] {
			return true
		}
	}
	return false
}
