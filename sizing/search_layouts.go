package sizing

// The degrees of parallelism that are tried where the request leaves them open.
var (
	tensorDegrees = []int{1, 2, 4, 8}
	nodeCounts    = []int{2, 4, 8} // where one node is not enough
)

// nodeRanks is how many accelerators of a node a replica is spread over at most.
const nodeRanks = 8

// layouts are how a replica may be spread over one node: every tensor degree,
// valid or not (what the model does not allow is rejected with the reason), and of
// a mixture of experts also data ranks, each with its own attention and cache,
// among which whole experts are divided.
func (x *explorer) layouts(at Configuration) []Configuration {
	var list []Configuration
	at.PipelineParallel = max(1, x.Scenario.Parallel.Pipeline)
	for _, at.TensorParallel = range x.tensorDegrees() {
		for _, at.DataParallel = range x.dataDegrees(at.TensorParallel) {
			at.ExpertParallel = x.expertDegree(at.TensorParallel, at.DataParallel)
			list = append(list, at)
		}
	}
	return list
}

func (x *explorer) tensorDegrees() []int {
	if t := x.Scenario.Parallel.Tensor; t > 0 {
		return []int{t}
	}
	return tensorDegrees
}

// dataDegrees are the numbers of data ranks to try beside a tensor degree.
func (x *explorer) dataDegrees(tensor int) []int {
	p := x.Scenario.Parallel
	switch {
	case p.Data > 0:
		return []int{p.Data}
	case p.Expert > tensor && p.Expert%tensor == 0:
		return []int{p.Expert / tensor}
	}
	degrees := []int{1}
	for data := 2; x.divides() && tensor*data <= nodeRanks; data *= 2 {
		degrees = append(degrees, data)
	}
	return degrees
}

// divides reports whether the number of data ranks is open, for a model that
// gains from them.
func (x *explorer) divides() bool {
	p := x.Scenario.Parallel
	return x.experts > 0 && p.Data == 0 && p.Expert == 0 && p.Pipeline <= 1
}

// expertDegree is how many ranks divide whole experts: all where there are data
// ranks, and where the experts' width, or the blocks of it that share a scale, does
// not go into the ranks.
func (x *explorer) expertDegree(tensor, data int) int {
	if said := x.Scenario.Parallel.Expert; said > 0 || x.experts == 0 {
		return said
	}
	ranks, block := tensor*data, 1
	if q := x.model.Quantization; q.Method == "fp8" {
		block = max(1, q.GroupSize) // warnBlocks
	}
	uneven := x.expertWidth%ranks != 0 || x.expertWidth/ranks%block != 0
	if ranks > 1 && (ranks > tensor && x.Scenario.Parallel.Data == 0 || uneven) {
		return ranks
	}
	return 0
}

// acrossNodes are the layouts over several nodes: a pipeline of the largest valid
// tensor degree, and data ranks on all accelerators.
func (x *explorer) acrossNodes(at Configuration, tensor, nodes int) []Configuration {
	var list []Configuration
	p := x.Scenario.Parallel
	if p.Pipeline == 0 {
		at.TensorParallel, at.PipelineParallel, at.DataParallel = tensor, nodes, max(1, p.Data)
		at.ExpertParallel = x.expertDegree(tensor, at.DataParallel)
		list = append(list, at)
	}
	if ranks := nodes * nodeRanks; x.divides() && p.Tensor <= 1 && ranks <= x.experts {
		at.TensorParallel, at.PipelineParallel, at.DataParallel, at.ExpertParallel = 1, 1, ranks, ranks
		list = append(list, at)
	}
	return list
}

// tryLayouts evaluates every layout of one node, and of several where one is not
// enough.
func (x *explorer) tryLayouts(at Configuration, try func(Configuration) (fits, valid bool)) {
	fits, largest := false, 0
	for _, c := range x.layouts(at) {
		fit, valid := try(c)
		fits = fits || fit
		if valid {
			largest = max(largest, c.TensorParallel)
		}
	}
	if largest == 0 {
		return
	}
	for _, nodes := range nodeCounts {
		more := x.acrossNodes(at, largest, nodes)
		if fits || len(more) == 0 {
			return
		}
		for _, c := range more {
			fit, _ := try(c)
			fits = fits || fit
		}
	}
}
