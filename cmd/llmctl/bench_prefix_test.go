package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/server"
)

// Two runs of bench with one seed on one server find nothing of each other in its
// prefix cache, which would make the second look faster; the same prompt sent again
// would be found.
func TestASecondRunFindsNoPromptsOfTheFirst(t *testing.T) {
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ts := httptest.NewServer(server.New(e, server.Options{}))
	defer ts.Close()
	for range 2 {
		code, stdout, stderr := llmctl(t, nil, "bench", "--endpoint", ts.URL, "--isl", "100", "--osl", "1", "--concurrency", "2",
			"--requests", "12", "--warmup", "0s", "--ui", "none", "--seed", "7", "--max-lag", "1h")
		if code != exitOK && code != exitUntrusted {
			t.Fatalf("exit code %d:\n%s\n%s", code, stdout, stderr)
		}
	}
	st := e.Stats()
	if st.PrefixQueries < 24*100 {
		t.Errorf("%d tokens were looked up, want those of 24 prompts", st.PrefixQueries)
	}
	if st.PrefixHits*50 > st.PrefixQueries {
		t.Errorf("%d of %d tokens were found in the prefix cache, want next to none", st.PrefixHits, st.PrefixQueries)
	}
	prompt := fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, strings.TrimSpace(strings.Repeat("the moon ", 50)))
	for range 2 {
		answer, err := http.Post(ts.URL+"/v1/completions", "application/json", strings.NewReader(prompt))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	if hits := e.Stats().PrefixHits - st.PrefixHits; hits < 80 {
		t.Errorf("%d tokens of a prompt that was sent again were found, want most of 100", hits)
	}
}
