package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/sizing/cost"
)

// resolveCalibration makes sure that the entries of a calibration could be meant,
// and says when none of them is for this plan.
func (s *situation) resolveCalibration(r Request) error {
	if len(s.calibration) == 0 {
		return nil
	}
	if err := cost.CheckNames(s.calibration, s.engine, s.device); err != nil {
		return fmt.Errorf("--calibration %s: %w", r.CalibrationFile, err)
	}
	if !cost.Applies(s.calibration, s.engine, s.device, s.facts) {
		kind := "dense"
		if s.facts.MoE {
			kind = "mixture of experts"
		}
		s.warn("calibration-unused", "no entry for %s/%s/%s in %s: the built-in constants hold", cost.Imitated(s.engine.Name, cost.Family(s.device.Name)), cost.Family(s.device.Name), kind, r.CalibrationFile)
	}
	return nil
}
