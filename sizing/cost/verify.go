package cost

// Verify is a sequence that runs Tokens at once after Context others, its last one
// and drafts of those to come, each of which samples. It attends like a short chunk
// of a prompt, that is, it reads its context once; but it is launched like a decode:
// engines capture graphs for the steps of a batch that all verify as many (vLLM,
// vllm/v1/cudagraph_dispatcher.py, uniform_decode_query_len = 1 + drafts).
type Verify struct {
	Tokens, Context float64
}

// AddVerify adds a sequence that verifies drafts.
func (e *Evaluator) AddVerify(v Verify) {
	w := &e.w
	w.tokens += v.Tokens
	w.sampled += v.Tokens
	w.addCache(e.f, Prefill{Tokens: v.Tokens, Context: v.Context})
	for i := range e.f.KV {
		k := &e.f.KV[i]
		w.attend(k, float64(2*k.DecodeWidth*v.Tokens*k.read(v.Context+float64((v.Tokens-1)/2))))
	}
}
