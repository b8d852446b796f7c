package gateway

// transcript keeps what a client is sent, for those who may give it again.
type transcript struct {
	bound int // bytes; a longer answer is not kept
	body  []byte
	over  bool
}

// record asks for a transcript of the answer, of up to bound bytes.
func (x *exchange) record(bound int) *transcript {
	if x.copy == nil {
		x.copy = &transcript{}
	}
	x.copy.bound = max(x.copy.bound, bound)
	return x.copy
}

// add keeps a piece; a nil transcript keeps none.
func (r *transcript) add(p []byte) {
	switch {
	case r == nil || r.over:
	case len(r.body)+len(p) > r.bound:
		r.over, r.body = true, nil
	default:
		r.body = append(r.body, p...)
	}
}
