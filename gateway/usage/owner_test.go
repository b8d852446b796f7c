//go:build unix && !solaris && !aix

package usage

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Two gateways on one file are told to the later one, which serves all the same: the
// earlier may be about to end. When that has, the file is the later one's.
func TestTwoGatewaysOnOneFileAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.db")
	open := func(path string) (*Ledger, *strings.Builder) {
		t.Helper()
		var logs strings.Builder
		l, err := Open(t.Context(), "sqlite:"+path, Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return l, &logs
	}
	write := func(l *Ledger) {
		t.Helper()
		l.Append(&Record{RequestID: "r", At: time.Now(), Tenant: "a", Alias: "b", Outcome: "ok", OK: true})
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	shut := func(l *Ledger, logs *strings.Builder, want string) {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := logs.String(); want == "" && got != "" || !strings.Contains(got, want) || strings.Count(got, "\n") > 1 {
			t.Errorf("the log says %q, want %q", got, want)
		}
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	first, firstLog := open(path)
	second, secondLog := open(link)
	write(first)
	write(second)
	shut(first, firstLog, "")
	write(second) // which is the only one now, and says so to a third
	third, thirdLog := open(path)
	shut(second, secondLog, fmt.Sprintf("process %d on ", os.Getpid()))
	shut(third, thirdLog, "also kept there by")
	alone, aloneLog := open(path)
	shut(alone, aloneLog, "")
}
