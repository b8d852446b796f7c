package config

import "slices"

// Restart names the keys that differ between two configurations and that a running
// gateway cannot change: addresses, certificates' paths and places where state is
// kept.
func Restart(old, next *Config) (keys []string) {
	for _, k := range []struct {
		name string
		same bool
	}{
		{"listen", old.Listen == next.Listen},
		{"tls", old.TLS == next.TLS},
		{"admin.listen", old.Admin.Listen == next.Admin.Listen},
		{"admin.tls", old.Admin.TLS == next.Admin.TLS},
		{"picker.listen", old.Picker.Listen == next.Picker.Listen},
		{"picker.tls", old.Picker.TLS == next.Picker.TLS},
		{"store.limits", old.Store.Limits == next.Store.Limits && old.Store.LimitsKeyEnv == next.Store.LimitsKeyEnv},
		{"store.when_down", old.Store.WhenDown == next.Store.WhenDown},
		{"store.timeout", old.Store.Timeout == next.Store.Timeout},
		{"store.usage", old.Store.Usage == next.Store.Usage && old.Store.UsageKeyEnv == next.Store.UsageKeyEnv &&
			old.Store.UsageKeep == next.Store.UsageKeep},
		{"traces", old.Traces.Endpoint == next.Traces.Endpoint && sample(old.Traces) == sample(next.Traces)},
	} {
		if !k.same {
			keys = append(keys, k.name)
		}
	}
	return slices.Clip(keys)
}

func sample(t Traces) float64 {
	if t.Sample == nil {
		return 1
	}
	return *t.Sample
}
