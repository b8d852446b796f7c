package attention

import (
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// wideKeys writes K of a block and KV head to dst as float32, [head dim][position]. It
// may change up to vector.Width elements more.
func (c *Cache) wideKeys(dst []float32, layer []byte, b kv.Block, head int) {
	src := c.head(layer, b, head)
	if convert := wideners[c.dtype].keys; vector.Current() > vector.Plain && convert != nil {
		_ = dst[c.elements()+vector.Width-1]
		convert(&dst[0], &src[0], c.scalesOf(src), c.dim, c.blockSize)
		return
	}
	c.widen(dst[:c.elements()], src)
	if c.dtype.scaled() {
		scales := floats(src[c.codeBytes:])
		for d := range c.dim {
			for p, v := range dst[d*c.blockSize:][:c.blockSize] {
				dst[d*c.blockSize+p] = v * scales[p]
			}
		}
	}
}

// wideValues does the same with V, [position][head dim].
func (c *Cache) wideValues(dst []float32, layer []byte, b kv.Block, head int) {
	src := c.head(layer, b, head)
	if convert := wideners[c.dtype].values; vector.Current() > vector.Plain && convert != nil {
		_ = dst[c.elements()+vector.Width-1]
		convert(&dst[0], &src[0], c.scalesOf(src), c.blockSize, c.dim)
		return
	}
	c.widen(dst[:c.elements()], src)
	if c.dtype.scaled() {
		for p, scale := range floats(src[c.codeBytes:])[:c.blockSize] {
			for d, v := range dst[p*c.dim:][:c.dim] {
				dst[p*c.dim+d] = v * scale
			}
		}
	}
}

// widen decodes elements without their scales.
func (c *Cache) widen(dst []float32, src []byte) {
	switch c.dtype {
	case Float16:
		for i, h := range halves(src)[:len(dst)] {
			dst[i] = block.FromHalf(h)
		}
	case BFloat16:
		for i, h := range halves(src)[:len(dst)] {
			dst[i] = block.FromBF16(h)
		}
	case Int8:
		for i, b := range src[:len(dst)] {
			dst[i] = float32(int8(b))
		}
	case FP8:
		for i, b := range src[:len(dst)] {
			dst[i] = block.FromHalf(uint16(b&0x80)<<8 | uint16(b&0x7f)<<7)
		}
	default:
		copy(dst, floats(src))
	}
}

// scalesOf is where the scales of a block begin, nil if it has none.
func (c *Cache) scalesOf(src []byte) *byte {
	if !c.dtype.scaled() {
		return nil
	}
	return &src[c.codeBytes]
}
