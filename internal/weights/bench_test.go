package weights

import (
	"bytes"
	"fmt"
	"testing"
)

// many writes a file with n tensors of two bytes.
func many(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"model.layers.%d.mlp.experts.%d.weight":{"dtype":"BF16","shape":[1],"data_offsets":[%d,%d]}`, i%60, i, 2*i, 2*i+2)
	}
	b.WriteByte('}')
	return file(b.String(), 2*n)
}

func TestTooManyTensors(t *testing.T) {
	data := many(maxTensors + 1)
	if _, err := ReadHeader(bytes.NewReader(data), int64(len(data))); err == nil || err.Error() != "more than 500000 tensors" {
		t.Error(err)
	}
}

func BenchmarkReadHeader(b *testing.B) {
	data := many(200_000)
	for b.Loop() {
		if _, err := ReadHeader(bytes.NewReader(data), int64(len(data))); err != nil {
			b.Fatal(err)
		}
	}
}
