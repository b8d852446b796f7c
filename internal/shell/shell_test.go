package shell

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"a-b/c.json": "a-b/c.json", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a\nb": "'a\nb'", "~": "'~'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := Wrap([]string{"llmctl", "size", "--model", "a b", "--tp", "2", "--explain", "--weight-dtype", "fp8"}, 30)
	want := "llmctl size --model 'a b' \\\n  --tp 2 --explain \\\n  --weight-dtype fp8"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAShellReadsTheWords asks the shell of this machine, which every POSIX
// system has.
func TestAShellReadsTheWords(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`-{0,2}[a-z$'"\\ *;&|<>(){}#~!?\n]{1,8}`), 1, 5).Draw(t, "words")
		script := "for w in " + Join(words) + "; do printf '%s\\001' \"$w\"; done"
		out, err := exec.Command(sh, "-c", script).Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		if diff := cmp.Diff(words, strings.Split(strings.TrimSuffix(string(out), "\x01"), "\x01")); diff != "" {
			t.Fatal(diff)
		}
	})
}
