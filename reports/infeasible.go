package reports

// InfeasibleSchema names the form of what no simulation can be made of.
const InfeasibleSchema = "llmctl/infeasible/v1"

// Infeasible is a scenario that can not run at all, in the place of a report.
type Infeasible struct {
	Schema   string   `json:"schema"`
	Kind     string   `json:"kind"`
	Feasible bool     `json:"feasible"` // false
	Reasons  []string `json:"reasons"`
	Nearest  string   `json:"nearest,omitempty"` // the flags with which it runs
}

// NewInfeasible is the document of a simulation for these reasons.
func NewInfeasible(reasons []string, nearest string) *Infeasible {
	return &Infeasible{Schema: InfeasibleSchema, Kind: Simulate, Reasons: reasons, Nearest: nearest}
}
