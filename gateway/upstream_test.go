package gateway

import "testing"

func TestErrorsTellNoInnerAddressAndNoPartOfAKey(t *testing.T) {
	p := &provider{key: "topsecret"}
	for text, want := range map[string]string{
		`cannot reach http://10.1.2.3:8000/v1 (topsecret)`:       `cannot reach [redacted]/v1 ([redacted])`,
		`bad key sk-upst***7890.`:                                `bad key [redacted].`,
		`192.168.0.7, 172.20.1.1:80 and localhost:8000`:          `[redacted], [redacted] and [redacted]`,
		`see https://platform.openai.com/x, 8.8.8.8, 172.40.1.1`: `see https://platform.openai.com/x, 8.8.8.8, 172.40.1.1`,
	} {
		if got := string(p.redact([]byte(text))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := string(p.withoutKeys([]byte(`dial tcp 10.1.2.3:8000 with topsecret: refused`))); got != `dial tcp 10.1.2.3:8000 with [redacted]: refused` {
		t.Errorf("operators are told %q", got)
	}
}
