package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func readDocs(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestConfigurationInTheDocsIsAccepted(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readDocs(t), -1)
	if len(blocks) == 0 {
		t.Fatal("no configuration in the docs")
	}
	for _, block := range blocks {
		if _, err := Parse([]byte(block[1])); err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
}

// Every key that the configuration takes is in a table of the docs.
func TestEveryKeyIsDocumented(t *testing.T) {
	docs := readDocs(t)
	var visit func(reflect.Type)
	visit = func(at reflect.Type) {
		for at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return
		}
		for i := range at.NumField() {
			key, _, _ := strings.Cut(at.Field(i).Tag.Get("yaml"), ",")
			if !regexp.MustCompile("(?m)(^\\| .*[`.]" + key + "[`.\\[]|^\\*\\*" + key + "\\*\\*, a list)").MatchString(docs) {
				t.Errorf("key %q of %s is not documented", key, at.Name())
			}
			visit(at.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[Config]())
}
