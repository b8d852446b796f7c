package gateway

import (
	"fmt"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/store"
)

// Verify refuses all that New would of a configuration, which is more than its own
// checks can: secrets that are missing in the environment, and filters, URLs of
// stores and providers of embeddings that the parts behind them do not take. It
// opens and starts nothing.
func Verify(c *config.Config, lookup func(string) (string, bool)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	env, err := c.ReadEnvironment(lookup)
	if err != nil {
		return err
	}
	if _, err := newTable(c, env, http.DefaultClient, state{}, new(state)); err != nil {
		return err
	}
	if _, err := newSpecs(c); err != nil {
		return err
	}
	if c.Store.Limits == "" || c.Store.Limits == config.StoreMemory {
		return nil
	}
	client, err := store.Dial(c.Store.Limits, "", time.Second) // connects when it is used
	if err != nil {
		return fmt.Errorf("store.limits: %w", err)
	}
	return client.Close()
}
