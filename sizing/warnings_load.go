package sizing

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// nvlinkClass reports whether a link is made for exchanges inside every layer.
func nvlinkClass(link string) bool {
	return strings.HasPrefix(link, "NVLink") || strings.HasPrefix(link, "Infinity Fabric")
}

// warnOfLinks says what parallelism does over the links that there are.
func (s *situation) warnOfLinks() {
	in, d := s.inputs, s.device
	if in.TensorParallel > 1 {
		if d.LinkBytesPerS == 0 {
			s.warn("unknown-link", "no link speed is known for %s: the time of tensor parallelism's exchanges is not counted; measure it", d.Name)
		}
		if d.Link != "" && !nvlinkClass(d.Link) {
			s.warn("slow-link", "tensor parallelism over %s: it exchanges results inside every layer and lowers the time of a token only over an NVLink-class link; where the model fits, take more replicas instead", d.Link)
		}
		if domain := linkDomain(d); in.TensorParallel > domain {
			s.warn("cross-node", "tensor parallelism of %d leaves the %d accelerators that a fast link joins, and its exchanges are forecast as if it did not: keep --tp at %d and add --pp",
				in.TensorParallel, domain, domain)
		}
	}
	if in.PipelineParallel > 1 {
		s.warn("pipeline", "pipeline parallelism adds capacity, but does not shorten the time of a token: for that take --tp over an NVLink-class link")
	}
}

// warnOfLoad says how the engine behaves at and beyond the planned load.
func (s *situation) warnOfLoad(p *Plan) {
	m, in, q := p.Memory, s.inputs, p.Performance
	if float64(in.MaxNumSeqs) > m.MaxConcurrency {
		s.oversubscribed(m)
	}
	if float64(in.MaxNumSeqs) > m.MixSequences {
		s.warn("preemption", "max_num_seqs %d is more than the %s average requests that the KV cache holds: under overload the engine preempts; more replicas help, faster accelerators do not; --max-num-seqs %d queues instead",
			in.MaxNumSeqs, units.Number(m.MixSequences), int(max(1, m.MixSequences)))
	}
	if q.Bound == "KV cache" {
		s.warn("kv-bound", "the KV cache is what stops a higher rate: rising preemptions call for more replicas, an fp8 cache or shorter requests, not for faster accelerators")
	}
	if p.Fleet.Replicas > 1 {
		s.warn("autoscale", "scale the %d replicas on waiting and running requests, not on GPU utilization, which stays modest in a memory-bound decode while the queue grows (--emit autoscaler)", p.Fleet.Replicas)
	}
	s.warnOfLowBatch(q)
}

// cheaperBy is the gain of a full replica from which sharing one is worth saying.
const cheaperBy = 1.5

// warnOfLowBatch says that a replica which decodes hardly anything at once could do
// much more for the same money: one that is loaded with less than half of what it
// could be.
func (s *situation) warnOfLowBatch(q *Performance) {
	in := s.inputs
	full := q.MaxRPS * in.TargetUtilization
	gain := full / q.RPS
	if !in.loaded() || q.Batch >= 2 || gain < cheaperBy || q.RPS > q.MaxRPS/2 {
		return
	}
	s.warn("batch-one", "the batch is %s: each step reads all weights for about one token, so that these times are no measure of throughput; at %s the same replica makes a token %s times cheaper: share it, or call a hosted API",
		units.Number(q.Batch), units.Of(full, "request")+"/s", units.Number(gain))
}

// oversubscribed says that the longest requests do not fit together, and which
// limits would keep them from meeting.
func (s *situation) oversubscribed(m Memory) {
	in := s.inputs
	limit := fmt.Sprintf("--max-num-seqs (%d rules it out)", int(max(1, m.MaxConcurrency)))
	if length := m.KVCacheTokens / int64(in.MaxNumSeqs); float64(length) > in.InputTokens+in.OutputTokens {
		limit = fmt.Sprintf("(%d rules it out), or ", length) + limit
	} else {
		limit = "or " + limit
	}
	s.warn("oversubscribed", "max_num_seqs %d × max_model_len %d is more than the pool, which holds %s of that length: preemption is ahead when long ones meet; lower --max-model-len to what requests need %s",
		in.MaxNumSeqs, in.MaxModelLen, units.Of(m.MaxConcurrency, "request"), limit)
}
