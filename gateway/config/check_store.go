package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/llmctl/llmctl/internal/storeurl"
)

// Places where usage can be kept, beside those that are URLs.
const (
	StoreMemory  = "memory"  // of limits
	StoreNone    = "none"    // of usage
	SQLitePrefix = "sqlite:" // of usage; a path follows
)

func (c *Config) checkStore(*collection) error {
	s := c.Store
	if err := checkVariable("store.limits_key_env", s.LimitsKeyEnv); err != nil {
		return err
	}
	if err := checkVariable("store.usage_key_env", s.UsageKeyEnv); err != nil {
		return err
	}
	switch {
	case s.Limits == "" || s.Limits == StoreMemory:
		if s.LimitsKeyEnv != "" {
			return keyed("store.limits_key_env", errors.New("store.limits_key_env is the password of a Redis, and store.limits is memory"))
		}
	case !strings.Contains(s.Limits, "://"):
		return keyed("store.limits", fmt.Errorf("store.limits: expected %s or a URL like redis://10.0.0.5:6379/0", StoreMemory))
	default:
		if err := checkStoreURL(s.Limits, "limits_key_env", storeurl.Redis); err != nil {
			return keyed("store.limits", fmt.Errorf("store.limits: %w", err))
		}
	}
	if err := s.checkWhenDown(); err != nil {
		return err
	}
	return keyed("store.usage", s.checkUsage())
}

func (s Store) checkWhenDown() error {
	memory := s.Limits == "" || s.Limits == StoreMemory
	switch {
	case s.WhenDown != "" && s.WhenDown != WhenDownRefuse && s.WhenDown != WhenDownLocal:
		return keyed("store.when_down", fmt.Errorf("store.when_down: expected %s or %s, got %q", WhenDownRefuse, WhenDownLocal, s.WhenDown))
	case memory && s.WhenDown != "":
		return keyed("store.when_down", errors.New("store.when_down says what happens without a Redis, and store.limits is memory"))
	case memory && s.Timeout != 0:
		return keyed("store.timeout", errors.New("store.timeout is how long to wait for a Redis, and store.limits is memory"))
	}
	return nil
}

func (s Store) checkUsage() error {
	path, file := strings.CutPrefix(s.Usage, SQLitePrefix)
	switch {
	case file && path == "":
		return fmt.Errorf("store.usage: expected the path of a file after %s", SQLitePrefix)
	case s.Usage == "" || s.Usage == StoreNone || file:
		if s.UsageKeyEnv != "" {
			return errors.New("store.usage_key_env is the password of a Postgres, and store.usage is none")
		}
		return nil
	case !strings.Contains(s.Usage, "://"):
		return fmt.Errorf("store.usage: expected %sFILE, a URL like postgres://user@10.0.0.5/usage, or %s", SQLitePrefix, StoreNone)
	}
	if err := checkStoreURL(s.Usage, "usage_key_env", storeurl.Postgres); err != nil {
		return fmt.Errorf("store.usage: %w", err)
	}
	return nil
}

// What store.when_down can be.
const (
	WhenDownRefuse = "refuse"
	WhenDownLocal  = "local"
)

// checkStoreURL refuses a password in a URL: it would be in the file, which people
// share, and in logs. Errors do not quote the URL.
func checkStoreURL(s, variable string, read func(string) (*url.URL, error)) error {
	u, err := read(s)
	if err != nil {
		return err
	}
	if storeurl.HasPassword(u) {
		return fmt.Errorf("a password in a URL ends up in logs, use %s", variable)
	}
	return nil
}
