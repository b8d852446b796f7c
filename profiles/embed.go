package profiles

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"

	"go.yaml.in/yaml/v3"
)

//go:embed data
var embedded embed.FS

// readEmbedded decodes an embedded YAML file. The files are part of the program,
// so that one that does not decode is a programmer's error.
func readEmbedded[T any](name string) T {
	var value T
	data, err := fs.ReadFile(embedded, "data/"+name)
	if err == nil {
		decoder := yaml.NewDecoder(bytes.NewReader(data))
		decoder.KnownFields(true)
		err = decoder.Decode(&value)
	}
	if err != nil {
		panic(fmt.Sprintf("embedded %s: %v", name, err))
	}
	return value
}
