package gateway

import (
	"strings"
	"testing"
	"time"
)

// TPOT is a fraction, not a whole number of anything: ten tokens in 49.5 ms after
// the first are 5.5 ms each.
func TestTimePerOutputTokenIsAFraction(t *testing.T) {
	start := time.Now()
	x := &exchange{first: start, last: start.Add(49500 * time.Microsecond)}
	x.spent.usage, x.spent.reported = tally{input: 1, output: 10}, true
	if d, ok := x.tpot(); !ok || d != 5500*time.Microsecond {
		t.Errorf("%v, want 5.5 ms", d)
	}
}

func TestGenAIMetrics(t *testing.T) {
	s := serve(t, upstreamAnswers(helloEvent, worldEvent, finishEvent, usageEvent, doneEvent))
	s.post(streamBody)
	s.settled()
	page := s.metrics()
	const provider = `gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model=`
	for _, want := range []string{
		`gen_ai_client_token_usage_sum{` + provider + `"real-model",gen_ai_token_type="input"} 11`,
		`gen_ai_client_token_usage_sum{` + provider + `"real-model",gen_ai_token_type="output"} 2`,
		`gen_ai_client_operation_duration_seconds_count{error_type="",` + provider + `"real-model"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="",` + provider + `"small"} 1`,
		`gen_ai_server_time_to_first_token_seconds_count{` + provider + `"small"} 1`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}
