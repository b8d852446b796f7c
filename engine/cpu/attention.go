package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// attend replaces one token's queries by its attention in one layer:
// softmax(q·Kᵀ)·V over positions 0 … position, read through the block table in
// order of position, so that where the blocks lie cannot change the sum. q is
// [head][head dim], already scaled by 1/√dim. group query heads share a KV head.
// scores is scratch for two heads.
func (c *cache) attend(q []float32, layer int, table []kv.Block, position, group int, scores []float32) {
	span := position + 1
	for h := range c.heads {
		for g := 0; g < group; g += 2 {
			head := h*group + g
			if g+1 == group {
				c.attendOne(q[head*c.dim:], layer, h, table, scores[:span])
				continue
			}
			c.attendTwo(q[head*c.dim:], layer, h, table, scores[:span], scores[span:2*span])
		}
	}
}

// attendTwo does two query heads that share a KV head, so K and V are loaded
// once for both.
func (c *cache) attendTwo(q []float32, layer, head int, table []kv.Block, s0, s1 []float32) {
	q0, q1 := q[:c.dim], q[c.dim:2*c.dim]
	for first, i := 0, 0; first < len(s0); first, i = first+c.blockSize, i+1 {
		n := min(c.blockSize, len(s0)-first)
		k := c.keys[layer][c.at(table[i], head):][:n*c.dim]
		p := 0
		for ; p+2 <= n; p += 2 {
			a, b := k[p*c.dim:][:c.dim], k[(p+1)*c.dim:][:c.dim]
			s0[first+p], s1[first+p], s0[first+p+1], s1[first+p+1] = dot2x2(q0, q1, a, b)
		}
		if p < n {
			a := k[p*c.dim:][:c.dim]
			s0[first+p], s1[first+p] = dot(q0, a), dot(q1, a)
		}
	}
	softmax(s0)
	softmax(s1)
	clear(q0)
	clear(q1)
	for first, i := 0, 0; first < len(s0); first, i = first+c.blockSize, i+1 {
		n := min(c.blockSize, len(s0)-first)
		v := c.values[layer][c.at(table[i], head):][:n*c.dim]
		addWeighted(q0, s0[first:][:n], v)
		addWeighted(q1, s1[first:][:n], v)
	}
}

// attendOne is attendTwo for a query head without a partner.
func (c *cache) attendOne(q []float32, layer, head int, table []kv.Block, s []float32) {
	q = q[:c.dim]
	for first, i := 0, 0; first < len(s); first, i = first+c.blockSize, i+1 {
		n := min(c.blockSize, len(s)-first)
		k := c.keys[layer][c.at(table[i], head):][:n*c.dim]
		matmul(s[first:], q, k, 1, c.dim, n)
	}
	softmax(s)
	clear(q)
	for first, i := 0, 0; first < len(s); first, i = first+c.blockSize, i+1 {
		n := min(c.blockSize, len(s)-first)
		addWeighted(q, s[first:][:n], c.values[layer][c.at(table[i], head):][:n*c.dim])
	}
}

// dot2x2 returns the products of two queries with two keys.
func dot2x2(q0, q1, k0, k1 []float32) (s00, s10, s01, s11 float32) {
	q1, k0, k1 = q1[:len(q0)], k0[:len(q0)], k1[:len(q0)]
	for i, a := range q0 {
		b, u, v := q1[i], k0[i], k1[i]
		s00 += float32(a * u)
		s10 += float32(b * u)
		s01 += float32(a * v)
		s11 += float32(b * v)
	}
	return s00, s10, s01, s11
}

// addWeighted adds Σ weights[p]·v[p] to out, in ascending order of p. v is
// [len(weights)][len(out)].
func addWeighted(out, weights, v []float32) {
	dim := len(out)
	d := 0
	for ; d+4 <= dim; d += 4 {
		o := out[d:][:4]
		a, b, c, e := o[0], o[1], o[2], o[3]
		column := v[d:]
		for p, w := range weights {
			x := column[p*dim:][:4]
			a += float32(w * x[0])
			b += float32(w * x[1])
			c += float32(w * x[2])
			e += float32(w * x[3])
		}
		o[0], o[1], o[2], o[3] = a, b, c, e
	}
	for ; d < dim; d++ {
		for p, w := range weights {
			out[d] += float32(w * v[p*dim+d])
		}
	}
}

// softmax replaces scores by their softmax.
func softmax(s []float32) {
	top := float32(math.Inf(-1))
	for _, x := range s {
		top = max(top, x)
	}
	sum := float32(0)
	for i, x := range s {
		e := model.Exp(x - top)
		s[i] = e
		sum += e
	}
	inverse := 1 / sum
	for i := range s {
		s[i] *= inverse
	}
}
