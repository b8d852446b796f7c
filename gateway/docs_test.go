package gateway

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func readDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/gateway.md")
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
		if _, err := ParseConfig([]byte(block[1])); err != nil {
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

func TestEveryMetricIsDocumented(t *testing.T) {
	docs := readDocs(t)
	s := serve(t, replies(200, plainReply), frozen(Limits{RPM: 1}, Limits{}))
	s.post(plainBody)
	s.post(plainBody)
	s.settled()
	for line := range strings.Lines(s.metrics()) {
		name, ok := strings.CutPrefix(line, "# TYPE llmctl_")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut("llmctl_"+name, " ")
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("metric %s is not documented", name)
		}
	}
}
