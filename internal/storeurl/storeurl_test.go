package storeurl

import (
	"strings"
	"testing"
)

func TestURLsOfStores(t *testing.T) {
	for _, test := range []struct {
		name, text   string
		redis, other string // parts of the errors as Redis and as Postgres; empty: fine
	}{
		{"a Redis", "redis://10.0.0.5:6379", "", "expected a URL like postgres://"},
		{"a Redis with a database", "redis://h/3", "", "expected a URL like postgres://"},
		{"a Redis over TLS", "rediss://u@h:6380/", "", "expected a URL like postgres://"},
		{"a Redis with a named database", "redis://h/cache", "expected the number of a database", "expected a URL like postgres://"},
		{"a Postgres", "postgres://u@h/usage", "expected a URL like redis://", ""},
		{"a Postgres by its long name", "postgresql://h:5432/usage?sslmode=require", "expected a URL like redis://", ""},
		{"a port of nobody", "redis://h:99999", "expected a port from 1 to 65535, got 99999", "expected a URL"},
		{"a port of nobody at a Postgres", "postgres://h:0/x", "expected a URL", "expected a port from 1 to 65535, got 0"},
		{"no host", "redis:///0", "expected a URL like redis://", "expected a URL like postgres://"},
		{"no scheme", "h:6379", "expected a URL like redis://", "expected a URL like postgres://"},
		{"no URL", "redis://sk-secret@%zz", "expected a URL like redis://", "expected a URL like postgres://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, asRedis := Redis(test.text)
			_, asPostgres := Postgres(test.text)
			for err, want := range map[*error]string{&asRedis: test.redis, &asPostgres: test.other} {
				if (*err == nil) != (want == "") || *err != nil && !strings.Contains((*err).Error(), want) {
					t.Errorf("error %v, want %q", *err, want)
				}
				if *err != nil && strings.Contains((*err).Error(), "secret") {
					t.Errorf("the error quotes the URL: %v", *err)
				}
			}
		})
	}
}

func TestPasswordsAreSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://u@h/x": false, "postgres://u:p@h/x": true, "postgres://h/x?password=p": true, "postgres://h/x?sslPassword=p": true,
	} {
		u, err := Postgres(text)
		if err != nil || HasPassword(u) != want {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	if !IsPostgres("postgresql://h") || IsPostgres("sqlite:postgres") || IsPostgres("redis://h") {
		t.Error("what a Postgres is")
	}
}

// What is taken is of one kind, and has a host.
func FuzzURLs(f *testing.F) {
	for _, text := range []string{"redis://h:6379/0", "rediss://[::1]:1", "postgres://u@h/x", "redis://h/\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, asRedis := Redis(text)
		p, asPostgres := Postgres(text)
		if asRedis == nil && (asPostgres == nil || r.Hostname() == "") || asPostgres == nil && p.Hostname() == "" {
			t.Errorf("%q is read as %v and %v", text, r, p)
		}
	})
}
