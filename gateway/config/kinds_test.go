package config

import "testing"

// The table of kinds is whole: keys that mean nothing are settings that are looked
// for, and a provider that names no kind has the first.
func TestKindsAreWhole(t *testing.T) {
	for _, p := range protocols {
		for _, key := range p.meaningless {
			if optional[key] == nil {
				t.Errorf("kind %s: nobody looks for %q", p.name, key)
			}
		}
	}
	if (Provider{}).Protocol() != protocols[0].name || !(Provider{}).Embeds() {
		t.Errorf("a provider without a kind speaks %q, embeddings: %t", Provider{}.Protocol(), Provider{}.Embeds())
	}
	if (Provider{Kind: KindAnthropic}).Embeds() || (Provider{Kind: "nobody's"}).Embeds() {
		t.Error("embeddings of kinds that have none")
	}
}
