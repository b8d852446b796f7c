//go:build integration && unix

package usage

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// postgresServer is a server of the test's own, in a folder of its own.
type postgresServer struct {
	t    *testing.T
	bin  string // folder of pg_ctl
	dir  string
	port int
}

// startPostgres starts Debian's newest Postgres on loopback, with the password
// s3cret for the user llmctl.
func startPostgres(t *testing.T) *postgresServer {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if err != nil || len(found) == 0 {
		t.Fatalf("no Postgres server: install Debian's package postgresql (%v)", err)
	}
	dir, err := os.MkdirTemp("", "llmctl-postgres-") // not below the test's folder, which other users may not enter
	if err != nil {
		t.Fatal(err)
	}
	p := &postgresServer{t: t, bin: filepath.Dir(slices.Max(found)), dir: dir, port: freePort(t)}
	t.Cleanup(func() {
		_ = p.command("pg_ctl", "-D", p.data(), "-m", "immediate", "-w", "stop").Run() // it may be stopped already
		_ = os.RemoveAll(dir)
	})
	if id := p.identity(); id != nil {
		if err := os.Chown(dir, int(id.Uid), int(id.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must("initdb", "-D", p.data(), "-U", "llmctl", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale", "C")
	p.start()
	return p
}

func (p *postgresServer) data() string { return filepath.Join(p.dir, "data") }

// identity is whom the server runs as: it refuses to run as root.
func (p *postgresServer) identity() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	p.t.Fatal("no user to run Postgres as")
	return nil
}

func (p *postgresServer) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(p.bin, name), args...)
	c.Dir = p.dir
	if id := p.identity(); id != nil {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: id}
	}
	return c
}

func (p *postgresServer) must(name string, args ...string) {
	p.t.Helper()
	if out, err := p.command(name, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (p *postgresServer) start() {
	p.t.Helper()
	options := fmt.Sprintf("-h 127.0.0.1 -p %d -k %s -c fsync=off", p.port, p.dir)
	p.must("pg_ctl", "-D", p.data(), "-w", "-l", filepath.Join(p.dir, "log"), "-o", options, "start")
}

func (p *postgresServer) stop() {
	p.t.Helper()
	p.must("pg_ctl", "-D", p.data(), "-m", "immediate", "-w", "stop")
}

func (p *postgresServer) url(database string) string {
	return fmt.Sprintf("postgres://llmctl@127.0.0.1:%d/%s?sslmode=disable", p.port, database)
}

// database makes a new one.
func (p *postgresServer) database(t *testing.T, name string) string {
	t.Helper()
	s, err := openPostgres(t.Context(), p.url("postgres"), "s3cret", true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	if _, err := s.(*database).db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return p.url(name)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestPostgres(t *testing.T) {
	p := startPostgres(t)
	serial := 0
	next := func(t *testing.T) string {
		serial++
		return p.database(t, fmt.Sprintf("d%d", serial))
	}
	testDatabase(t, func(t *testing.T) store {
		s, err := openPostgres(t.Context(), next(t), "s3cret", true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.close() })
		return s
	})
	t.Run("several gateways share it", func(t *testing.T) { sharedPostgres(t, next(t)) })
	t.Run("a server that is gone and comes back", func(t *testing.T) { restartedPostgres(t, p, next(t)) })
	t.Run("a newer schema is refused", func(t *testing.T) {
		url := next(t)
		l := openAt(t, url)
		exec1(t, l.store.(*database).db, "UPDATE llmctl_usage_schema SET version = 2")
		if _, err := Open(t.Context(), url, Options{Password: "s3cret"}); err == nil || !strings.Contains(err.Error(), "newer llmctl (version 2") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a wrong password is told without it", func(t *testing.T) {
		_, err := Open(t.Context(), next(t), Options{Password: "wr0ng"})
		if err == nil || strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), "password authentication") {
			t.Errorf("error %v", err)
		}
	})
}

func openAt(t *testing.T, url string) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), url, Options{Password: "s3cret", Keep: forever})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Gateways that begin at once make the tables once, and none waits for another for
// good when they add to the same sums.
func sharedPostgres(t *testing.T, url string) {
	const gateways, each = 4, 3000
	var wg sync.WaitGroup
	for range gateways {
		wg.Go(func() {
			l, err := Open(t.Context(), url, Options{Password: "s3cret"})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range each {
				l.Append(sample(func(r *Record) { r.Tenant = fmt.Sprint("tenant-", i%7) }))
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := openAt(t, url)
	if got := mustSums(t, l, month()); got[0].Requests != gateways*each || got[0].Input != 100*gateways*each {
		t.Errorf("%d requests, want %d", got[0].Requests, gateways*each)
	}
}

// While the server is gone records wait, and none is lost or counted twice.
func restartedPostgres(t *testing.T, p *postgresServer, url string) {
	l := openAt(t, url)
	l.Append(sample())
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.stop()
	l.Append(sample())
	if err := l.Flush(t.Context()); err == nil {
		t.Error("a record was written to a server that is gone")
	}
	if _, err := l.Sums(t.Context(), month()); err == nil {
		t.Error("sums came from a server that is gone")
	}
	p.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for l.Flush(ctx) != nil && ctx.Err() == nil {
	}
	if got := mustSums(t, l, month()); got[0].Requests != 2 {
		t.Errorf("%d requests, want 2", got[0].Requests)
	}
	if s := l.Stats(); s.Lost != 0 || s.Failing || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}
