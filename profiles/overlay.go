package profiles

// Over returns s with what it leaves unsaid taken from base. A workload that
// names arrivals, lengths or prefixes replaces each as a whole, since half of a
// distribution means nothing.
func (s Scenario) Over(base Scenario) Scenario {
	s.Model = or(s.Model, base.Model)
	s.Accelerator = or(s.Accelerator, base.Accelerator)
	s.Engine = or(s.Engine, base.Engine)
	s.Experiment = or(s.Experiment, base.Experiment)
	s.Price = or(s.Price, base.Price)
	s.Parallel = s.Parallel.Over(base.Parallel)
	s.Workload = s.Workload.Over(base.Workload)
	if len(s.Also) == 0 {
		s.Also = base.Also
	}
	s.Serving = s.Serving.Over(base.Serving)
	s.Cluster = s.Cluster.Over(base.Cluster)
	if len(s.Compare) == 0 {
		s.Compare = base.Compare
	}
	if len(s.SLO) == 0 {
		s.SLO = base.SLO
	}
	s.Run = s.Run.Over(base.Run)
	return s
}

// Over returns p with the degrees that it leaves unsaid taken from base.
func (p Parallel) Over(base Parallel) Parallel {
	return Parallel{
		Tensor:   or(p.Tensor, base.Tensor),
		Pipeline: or(p.Pipeline, base.Pipeline),
		Expert:   or(p.Expert, base.Expert),
		Data:     or(p.Data, base.Data),
	}
}

// Over returns w with what it leaves unsaid taken from base. The base's shared
// prefix belongs to the base's prompts: prompts that w describes itself share
// nothing unless w says so. A trace has its own lengths, prefixes and turns: where
// w names one, or describes any of these, the base's others are left out.
func (w Workload) Over(base Workload) Workload {
	own := w.Input != Distribution{} || w.Output != Distribution{} || w.Prefix != Prefix{} || w.Session != Session{}
	if w.Trace == (Trace{}) && !own {
		w.Trace = base.Trace
	}
	replayed := w.Trace == Trace{} && base.Arrival.Process == TraceArrival
	w.Name = or(w.Name, base.Name)
	if w.Arrival == (Arrival{}) && !replayed {
		w.Arrival = base.Arrival
	}
	if w.Trace == (Trace{}) {
		if w.Input == (Distribution{}) {
			w.Input = base.Input
			w.Prefix = or(w.Prefix, base.Prefix)
		}
		w.Output = or(w.Output, base.Output)
		w.Session = or(w.Session, base.Session)
	}
	w.Cancel = or(w.Cancel, base.Cancel)
	if w.Tenant == "" && w.Tenants == 0 {
		w.Tenants, w.Tenant = base.Tenants, base.Tenant
	}
	w.Tools, w.Schema = or(w.Tools, base.Tools), or(w.Schema, base.Schema)
	if len(w.Classes) == 0 {
		w.Classes = base.Classes
	}
	if len(w.Models) == 0 {
		w.Models = base.Models
	}
	return w
}

// or is the first of two values that is not zero.
func or[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
