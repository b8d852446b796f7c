package segments

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every key of a report, and every kind of break, is in the docs.
func TestEveryKeyOfAReportIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/gateway-segments.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := string(data)
	check := func(word string) {
		if !strings.Contains(docs, "`"+word+"`") && !strings.Contains(docs, "."+word+"`") {
			t.Errorf("%s is not documented", word)
		}
	}
	for _, at := range []reflect.Type{reflect.TypeFor[Report](), reflect.TypeFor[Prefix](), reflect.TypeFor[Break]()} {
		for i := range at.NumField() {
			key, _, _ := strings.Cut(at.Field(i).Tag.Get("json"), ",")
			if key != "alias" { // of the request
				check(key)
			}
		}
	}
	for kind := range article {
		check(string(kind))
	}
	for line := range strings.Lines(docs) {
		if strings.HasPrefix(line, "| `") && strings.Count(line, "|") != 3 {
			t.Errorf("not two columns: %s", line)
		}
	}
}
