package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/loadgen/mock"
)

// The page of a mock tells how long requests are, in the names of the engines
// that do.
func TestInferOfMock(t *testing.T) {
	for style, histograms := range map[string][2]string{
		"vllm":   {"vllm:request_prompt_tokens", "vllm:request_generation_tokens"},
		"sglang": {"sglang:prompt_tokens_histogram", "sglang:generation_tokens_histogram"},
	} {
		endpoint := mockEndpoint(t, &mock.Server{MetricsStyle: style, PrefixCache: true})
		prompt := strings.Repeat("a ", 400)
		for _, tokens := range []int{5, 150, 400, 700} {
			response, err := http.Post(endpoint+"/v1/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"prompt":%q,"max_tokens":%d}`, prompt, tokens)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response.Status, err)
			}
		}
		code, stdout, stderr := llmctl(t, nil, "infer", endpoint+"/metrics", "--over", "1ms")
		for _, want := range []string{
			"input: 4 requests, mean 400 tokens, " + histograms[0], "fixed: 400",
			"output: 4 requests, mean 314 tokens, " + histograms[1], "75% of 1,600 prompt tokens were cached",
		} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: exit code %d, %s\nno %q in\n%s", style, code, stderr, want, stdout)
			}
		}
	}
}
