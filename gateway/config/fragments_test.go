package config

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Pieces of a configuration in other pages of the docs hold no key that there is
// not.
func TestPiecesOfConfigurationInTheDocsAreUnderstood(t *testing.T) {
	for _, name := range []string{"caches.md", "checks.md"} {
		data, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(data, -1)
		if len(blocks) == 0 {
			t.Errorf("no configuration in %s", name)
		}
		for _, block := range blocks {
			var c Config
			decoder := yaml.NewDecoder(bytes.NewReader(block[1]))
			decoder.KnownFields(true)
			if err := decoder.Decode(&c); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, block[1])
			}
		}
	}
}
