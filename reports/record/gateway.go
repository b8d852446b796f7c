package record

// Gateway is what a simulated cluster's gateway did within the window.
type Gateway struct {
	Limited   int64 `json:"limited"`   // requests above their tenant's limits
	Shed      int64 `json:"shed"`      // requests that found the queue full, or had to leave it
	TimedOut  int64 `json:"timed_out"` // tries without a token in time
	Retried   int64 `json:"retried"`   // tries after the first, the fallback's apart
	Unretried int64 `json:"unretried"` // failed tries that the retry budget left at that

	Fallback *Provided `json:"fallback,omitempty"` // nil: there is none
}

// Provided is what a fallback provider answered within the window, in part or
// whole, and what it cost.
type Provided struct {
	Requests     int64   `json:"requests"`
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	USD          float64 `json:"usd"`
}
