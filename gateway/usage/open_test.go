package usage

import (
	"path/filepath"
	"testing"
)

func TestPlaceNamesNoSecret(t *testing.T) {
	relative, err := filepath.Abs("usage.db")
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"sqlite:/var/usage.db": "/var/usage.db", "sqlite:usage.db": relative, "none": "memory",
		"postgres://user:secret@10.0.0.5:5432/usage?password=secret": "postgres://10.0.0.5:5432/usage", "postgres://us er:secret@": "postgres",
	} {
		if got := Place(spec); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}
