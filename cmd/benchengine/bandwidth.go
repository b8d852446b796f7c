package main

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/model"
)

// weights is what decoding one token has to read at least.
type weights struct {
	matrices int64 // bytes, as the file stores them
	perToken int   // bytes of the KV cache for each token before it
}

// weigh adds up the matrices of a model. Of the embedding a token reads one row, but a
// tied one is read whole as the head.
func weigh(path string) (w weights, err error) {
	m, err := load.Open(path, load.Options{})
	if err != nil {
		return w, err
	}
	defer func() { _ = m.Close() }()
	matrices := []model.Matrix{m.Weights.Head}
	for _, l := range m.Weights.Layers {
		if len(l.Experts) > 0 {
			return w, fmt.Errorf("%s is a mixture of experts, of which tokens read different parts; expected a dense model", path)
		}
		matrices = append(matrices, l.Query, l.Key, l.Value, l.Output, l.Gate, l.Up, l.Down)
	}
	for _, matrix := range matrices {
		w.matrices += int64(len(matrix.Data))
	}
	w.perToken = m.Weights.KVBytesPerToken()
	return w, nil
}

// The memory that readBandwidth goes through: more than caches hold.
const (
	scanned = 256 << 20 // bytes, of each thread
	passes  = 20
)

// readBandwidth is how many bytes a second so many threads read together, the best of
// some passes: bytes.IndexByte looks for a byte that is not there, with vector
// instructions where the processor has them.
func readBandwidth(threads int) float64 {
	all := make([][]byte, threads)
	for i := range all {
		all[i] = make([]byte, scanned)
		for at := 0; at < scanned; at += 4096 {
			all[i][at] = 1 // else all pages are one
		}
	}
	best := time.Duration(1<<63 - 1)
	for range passes {
		begun := time.Now()
		var readers sync.WaitGroup
		for _, data := range all {
			readers.Go(func() { bytes.IndexByte(data, 2) })
		}
		readers.Wait()
		best = min(best, time.Since(begun))
	}
	return float64(threads*scanned) / best.Seconds()
}
