package profiles

import "testing"

func TestSuggestWords(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		known      []string
	}{
		{"llama8b", "llama-3.1-8b", ModelNames()},
		{"llama-8b", "llama-3.1-8b", ModelNames()},
		{"llama70b", "llama-2-70b", []string{"llama-2-70b", "llama-7b"}},
		{"lama-3.1-8b", "llama-3.1-8b", ModelNames()},
		{"h100", "h100-sxm-80gb", AcceleratorNames()},
		{"a100", "a100-sxm-40gb", AcceleratorNames()},
		{"h200", "h200-sxm-141gb", AcceleratorNames()},
		{"h100-smx-80gb", "h100-sxm-80gb", AcceleratorNames()},
		{"l40", "l40-48gb", AcceleratorNames()},
		{"zzz9q", "", ModelNames()},
	} {
		if got := Suggest(tc.name, tc.known); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
