package chat

// Answer is a whole answer.
type Answer struct {
	Content   string
	Reasoning string
	ToolCalls []ToolCall
}

// Add appends a delta.
func (a *Answer) Add(d Delta) {
	a.Content += d.Content
	a.Reasoning += d.Reasoning
	for _, c := range d.Calls {
		if c.Index == len(a.ToolCalls) {
			a.ToolCalls = append(a.ToolCalls, ToolCall{ID: c.ID, Name: c.Name})
		}
		a.ToolCalls[c.Index].Arguments += c.Arguments
	}
}

// Parse reads a whole text with a fresh parser.
func Parse(p Parser, text string) (a Answer) {
	a.Add(p.Push(text))
	a.Add(p.Flush())
	return a
}
