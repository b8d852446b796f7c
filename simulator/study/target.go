package study

import "github.com/llmctl/llmctl/reports/record"

// poolFacts is what is simulated, as a report names it.
func (s *Study) poolFacts() (pools []record.Pool) {
	for i, p := range s.pools {
		in, constants := s.served[i].Inputs, p.Kind.Constants
		pools = append(pools, record.Pool{
			Name: p.Name, Role: p.Kind.Role, Replicas: p.Replicas, Accelerators: p.Kind.Accelerators,
			Accelerator: in.Accelerator, Engine: in.Engine,
			Steps: &record.StepTimes{Source: constants.Source, Error: constants.Error.Relative},
		})
	}
	return pools
}
