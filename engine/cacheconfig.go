package engine

import "cmp"

// CacheConfig is how the KV cache was set up.
type CacheConfig struct {
	BlockSize         int     // tokens
	Blocks            int     // usable by requests
	DType             string  // as Config.KVDType: auto where nothing was said
	PrefixCaching     bool    // blocks of equal prefixes are shared
	MemoryUtilization float64 // share of the device's memory; 0 where the cache was not laid out by it
	Window            int     // tokens that each layer's attention sees; 0 where one sees all
}

// CacheConfig tells how the KV cache was set up.
func (e *Engine) CacheConfig() CacheConfig {
	c := &e.config
	return CacheConfig{
		BlockSize: c.BlockSize, Blocks: c.Blocks, DType: cmp.Or(c.KVDType, "auto"), PrefixCaching: !c.Sched.DisablePrefixCache,
		MemoryUtilization: c.MemoryUtilization, Window: c.window(),
	}
}

// window is the largest of the layers' windows, 0 where one has none.
func (c *Config) window() (largest int) {
	for i := range c.Model.Layers {
		w := c.Model.Layers[i].Attention.Window
		if w == 0 {
			return 0
		}
		largest = max(largest, w)
	}
	return largest
}
