package trace_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/llmctl/llmctl/loadgen/workload/trace"
)

// BenchmarkRead reads files of 100,000 rows.
func BenchmarkRead(b *testing.B) {
	for _, format := range []struct {
		name, header string
		row          func(i int) string
	}{
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n", func(i int) string {
			return fmt.Sprintf("2024-05-10 %02d:%02d:%02d.009930+00:00,%d,%d\n", i/3600%24, i/60%60, i%60, i%4000+1, i%300+1)
		}},
		{"burstgpt", "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n", func(i int) string {
			return fmt.Sprintf("%d.0,,3,ChatGPT,%d,%d,9,API log\n", i, i%4000+1, i%300+1)
		}},
		{"mooncake", "", func(i int) string {
			return fmt.Sprintf("{\"timestamp\": %d, \"input_length\": 3000, \"output_length\": %d, \"hash_ids\": [0, 1, 2, 3, 4, %d]}\n", i, i%300+1, i)
		}},
		{"bodies", "", func(i int) string {
			return fmt.Sprintf("{\"messages\":[{\"role\":\"user\",\"content\":\"a question of some length, number %d\"}],\"max_tokens\":100}\n", i)
		}},
	} {
		b.Run(format.name, func(b *testing.B) {
			const rows = 100_000
			var file bytes.Buffer
			file.WriteString(format.header)
			for i := range rows {
				file.WriteString(format.row(i))
			}
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				sessions, _, err := trace.Read(bytes.NewReader(file.Bytes()), "file", trace.Options{})
				if err != nil || len(sessions) != rows {
					b.Fatal(len(sessions), err)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
