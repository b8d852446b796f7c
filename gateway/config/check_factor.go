package config

import "fmt"

// maxTokensFactor is far above what tokenizers differ by.
const maxTokensFactor = 10

// checkFactor refuses a tokens_factor that no tokenizer has.
func (t Target) checkFactor() error {
	if t.TokensFactor != 0 && !(t.TokensFactor >= 1.0/maxTokensFactor && t.TokensFactor <= maxTokensFactor) {
		return fmt.Errorf("tokens_factor %g is out of range %g to %d", t.TokensFactor, 1.0/maxTokensFactor, maxTokensFactor)
	}
	return nil
}
