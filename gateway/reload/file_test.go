package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/gateway/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// written is a configuration with one tenant of that name.
func written(tenant string) string {
	return `listen: 127.0.0.1:8080
tenants: [{name: ` + tenant + `, keys: [{key_env: KEY}]}]
providers: [{name: p, endpoints: [http://127.0.0.1:8000]}]
models: [{alias: m, targets: [{provider: p, model: m}]}]
`
}

// disk is a file that exists in memory only.
type disk struct {
	mu   sync.Mutex
	data string
	err  error
}

func (d *disk) write(data string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.data, d.err = data, err
}

func (d *disk) read(string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []byte(d.data), d.err
}

// follower is a file with who follows it.
type follower struct {
	t       *testing.T
	disk    disk
	file    *File
	log     bytes.Buffer
	tenants []string // of the configurations that were taken
	refuse  error
	signals chan os.Signal
}

func follow(t *testing.T, every time.Duration) *follower {
	t.Helper()
	f := &follower{t: t, signals: make(chan os.Signal)}
	f.disk.write(written("first"), nil)
	var err error
	f.file, _, err = Open("gateway.yaml", Options{Read: f.disk.read, Logger: slog.New(slog.NewTextHandler(&f.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	f.file.Apply(func(c *config.Config) error {
		if f.refuse == nil {
			f.tenants = append(f.tenants, c.Tenants[0].Name)
		}
		return f.refuse
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.file.Run(ctx, every, f.signals)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

// after writes, and lets some time pass.
func (f *follower) after(data string, err error, d time.Duration) {
	f.disk.write(data, err)
	time.Sleep(d)
	synctest.Wait()
}

func (f *follower) want(tenants ...string) {
	f.t.Helper()
	if diff := cmp.Diff(tenants, f.tenants); diff != "" {
		f.t.Errorf("configurations taken (-want +got):\n%s", diff)
	}
}

const every = 2 * time.Second

func TestChangedContentIsTakenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		f.after(written("first"), nil, time.Hour)
		f.want()
		f.after(written("second"), nil, time.Hour)
		f.want("second")
		f.after(written("first"), nil, every+Settle)
		f.want("second", "first")
	})
}

// A file that is being written in place is whole, with fewer tenants or without
// meaning, at moments in between.
func TestHalfWrittenFileIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		f.after(written("half"), nil, every+Settle/2) // seen, and changed before it has settled
		f.after(written("whole"), nil, time.Hour)
		f.want("whole")
	})
}

func TestBadFileIsRefusedOnceAndTheOldOneStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		hash := f.file.Status().Hash
		f.after("tenents: []\n", nil, time.Hour)
		f.want()
		status := f.file.Status()
		if status.Hash != hash || status.Err != `gateway.yaml: line 1: unknown key "tenents", did you mean "tenants"?` {
			t.Errorf("%+v", status)
		}
		if n := strings.Count(f.log.String(), "refused"); n != 1 || !strings.Contains(f.log.String(), "the old one stays") {
			t.Errorf("%d lines:\n%s", n, &f.log)
		}
		f.after(written("second"), nil, time.Hour)
		f.want("second")
		if status := f.file.Status(); status.Err != "" || status.Hash == hash {
			t.Errorf("%+v", status)
		}
	})
}

func TestFileThatIsAwayForAMomentIsNoMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		f.after("", os.ErrNotExist, every+Settle/2)
		f.after(written("second"), nil, time.Hour)
		f.want("second")
		if strings.Contains(f.log.String(), "the old one stays") {
			t.Error(&f.log)
		}
		f.after("", os.ErrNotExist, time.Hour)
		if got := f.file.Status().Err; got != "reading the configuration: file does not exist" {
			t.Errorf("error %q of a file that is gone", got)
		}
		f.after(written("second"), nil, time.Hour)
		if got := f.file.Status().Err; got != "" {
			t.Errorf("error %q of a file that came back", got)
		}
	})
}

func TestSignalReloadsWhatHasNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, 0)
		f.signals <- os.Interrupt // which one is the caller's business
		synctest.Wait()
		f.want("first")
		f.after(written("second"), nil, time.Hour) // nobody looks
		f.want("first")
		f.signals <- os.Interrupt
		synctest.Wait()
		f.want("first", "second")
	})
}

// What the gateway itself refuses, such as a variable that is not set, is refused
// as a file that cannot be read is.
func TestRefusalOfTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		f.refuse = errors.New("environment variable KEY is not set")
		if err := f.file.Reload(); err == nil || err.Error() != "gateway.yaml: environment variable KEY is not set" {
			t.Errorf("%v", err)
		}
		f.refuse = nil
		if err := f.file.Reload(); err != nil {
			t.Error(err)
		}
		f.want("first")
	})
}

func TestChangesThatNeedARestartAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		moved := strings.Replace(written("second"), "8080", "9090", 1) + "store: {usage: none}\n"
		f.after(moved, nil, time.Hour)
		f.want("second")
		if diff := cmp.Diff([]string{"listen", "store.usage"}, f.file.Status().Restart); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !strings.Contains(f.log.String(), "until a restart") || !strings.Contains(f.log.String(), "store.usage") {
			t.Error(&f.log)
		}
		f.after(written("second"), nil, time.Hour)
		if got := f.file.Status().Restart; got != nil {
			t.Errorf("%v, after all is as it was at the start", got)
		}
	})
}

func TestWarningsAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		for _, tenant := range []string{"second", "third"} {
			f.after(written(tenant)+"store: {usage: none}\n", nil, time.Hour)
		}
		for _, text := range []string{"admin.listen: none", "store.usage: none"} {
			if n := strings.Count(f.log.String(), text); n != 1 {
				t.Errorf("%q is told %d times:\n%s", text, n, &f.log)
			}
		}
	})
}

func TestMetricsOfReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, every)
		f.after("x", nil, time.Hour)
		f.after("", os.ErrPermission, time.Hour)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(f.file)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []string{
			`llmctl_gateway_config_reload_total{result="ok"} 0`,
			`llmctl_gateway_config_reload_total{result="refused"} 1`,
			`llmctl_gateway_config_reload_total{result="unreadable"} 1`,
			`llmctl_gateway_config_last_reload_successful 0`,
			`llmctl_gateway_config_info{hash="` + f.file.Status().Hash + `"} 1`,
			`llmctl_gateway_config_loaded_timestamp_seconds 9.466848e+08`, // where synctest's time begins
		} {
			if !strings.Contains(text.String(), want+"\n") {
				t.Errorf("no %s in\n%s", want, &text)
			}
		}
	})
}

// Kubernetes swaps a symbolic link, editors write another file and rename it. Both
// leave the name and change the file behind it.
func TestSwappedLinkAndRenamedFileAreSeen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.yaml")
	put := func(name, tenant string) string {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(written(tenant)), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	if err := os.Symlink(put("one", "first"), path); err != nil {
		t.Skip("no symbolic links here")
	}
	file, _, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan string, 10)
	file.Apply(func(c *config.Config) error { taken <- c.Tenants[0].Name; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { file.Run(ctx, time.Millisecond, nil) })
	defer run.Wait()
	defer cancel()
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Symlink(put("two", "second"), link), os.Rename(link, path)); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; got != "second" {
		t.Errorf("after the swap: %s", got)
	}
	if err := os.Rename(put("three", "third"), path); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; got != "third" {
		t.Errorf("after the rename: %s", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, read := range map[string]func(string) ([]byte, error){
		"a file that is not there": func(string) ([]byte, error) { return nil, os.ErrNotExist },
		"a mistake":                func(string) ([]byte, error) { return []byte("x: 1\n"), nil },
	} {
		if _, _, err := Open("gateway.yaml", Options{Read: read}); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}
