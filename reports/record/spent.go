package record

import "time"

// Spent is what the time of one simulated replica went to over the window. A
// step's time is that of its terms: reading weights and cache, computing, what
// every launch costs, and exchanges between accelerators.
type Spent struct {
	Page string // the name of its samples, where a run has several replicas; else empty

	Alive time.Duration // of the window
	Busy  time.Duration // in steps: the sum of the next four
	Memory, Compute,
	Fixed, Collectives time.Duration

	// In steps that left somebody in the queue: while another replica started, or else
	// since as many ran as may, since the cache had no room, since the step was full,
	// or since the batch took no more (a static one, or one of a pipeline).
	HeldStart, HeldSlots, HeldBlocks, HeldBudget, HeldBatch time.Duration
	// Time of the window in which somebody waited at the gateway: for room at a
	// replica, or for one to start. It is the same for all replicas.
	HeldGateway, HeldGatewayStart time.Duration

	Steps  int64
	Tokens int64 // that the steps computed
	// Unread are tokens of answers that ended in the window, generated after their
	// users had left and nobody was told.
	Unread int64
}

// spentJSON is a Spent in run.json.
type spentJSON struct {
	Page        string  `json:"page,omitempty"`
	Alive       seconds `json:"alive_s"`
	Busy        seconds `json:"busy_s"`
	Memory      seconds `json:"memory_s"`
	Compute     seconds `json:"compute_s"`
	Fixed       seconds `json:"fixed_s"`
	Collectives seconds `json:"collectives_s"`
	HeldSlots   seconds `json:"held_slots_s"`
	HeldBlocks  seconds `json:"held_blocks_s"`
	HeldBudget  seconds `json:"held_budget_s"`
	HeldBatch   seconds `json:"held_batch_s"`
	HeldGateway seconds `json:"held_gateway_s"`
	HeldStart   seconds `json:"held_start_s"`

	HeldGatewayStart seconds `json:"held_gateway_start_s"`

	Steps  int64 `json:"steps"`
	Tokens int64 `json:"tokens"`
	Unread int64 `json:"unread_tokens"`
}

func spentToJSON(all []Spent) (out []spentJSON) {
	for _, s := range all {
		out = append(out, spentJSON{
			s.Page, seconds(s.Alive), seconds(s.Busy), seconds(s.Memory), seconds(s.Compute), seconds(s.Fixed), seconds(s.Collectives),
			seconds(s.HeldSlots), seconds(s.HeldBlocks), seconds(s.HeldBudget), seconds(s.HeldBatch), seconds(s.HeldGateway), seconds(s.HeldStart), seconds(s.HeldGatewayStart), s.Steps, s.Tokens, s.Unread,
		})
	}
	return out
}

func spentFromJSON(all []spentJSON) (out []Spent) {
	for _, s := range all {
		out = append(out, Spent{
			Page: s.Page, Alive: time.Duration(s.Alive), Busy: time.Duration(s.Busy),
			Memory: time.Duration(s.Memory), Compute: time.Duration(s.Compute), Fixed: time.Duration(s.Fixed), Collectives: time.Duration(s.Collectives),
			HeldSlots: time.Duration(s.HeldSlots), HeldBlocks: time.Duration(s.HeldBlocks), HeldBudget: time.Duration(s.HeldBudget), HeldBatch: time.Duration(s.HeldBatch), HeldGateway: time.Duration(s.HeldGateway), HeldStart: time.Duration(s.HeldStart), HeldGatewayStart: time.Duration(s.HeldGatewayStart),
			Steps: s.Steps, Tokens: s.Tokens, Unread: s.Unread,
		})
	}
	return out
}
