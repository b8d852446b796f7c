package cache

import (
	"math"
	"slices"
	"time"
)

// maxSpace is how many questions a space holds. Each is compared with each
// request in the space, so the bound keeps a look-up at a millisecond or two; the
// oldest give way.
const maxSpace = 1000

// Question is what a request in a space asks.
type Question struct {
	Vector []float32 // its embedding; see Unit
	Guard  string    // see GuardOf
}

// Unit returns v scaled to length 1, so that the product of two is their cosine;
// ok is false when it has no direction.
func Unit(v []float32) (unit []float32, ok bool) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, false
	}
	unit = make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / length)
	}
	return unit, true
}

func dot(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32 // four sums, since each addition waits for the one before
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return float64(s0 + s1 + s2 + s3)
}

// PutNear keeps an answer under a key, and lets questions of its space find it.
func (m *Memory) PutNear(tenant string, space, key Key, q Question, a *Answer, ttl, now time.Duration) {
	m.put(tenant, &item{
		key: key, answer: a, stored: now, expires: now + ttl, space: space, question: q,
		bytes: a.size() + int64(4*len(q.Vector)+len(q.Guard)),
	})
}

// Near finds the answer to the most similar question in a tenant's space, among
// those with the same guard and at least the similarity asked for.
func (m *Memory) Near(tenant string, space Key, q Question, threshold float64, now time.Duration) (Hit, bool) {
	m.mu.Lock()
	candidates := slices.Clone(m.spaces[space])
	m.mu.Unlock()
	// Items do not change, so they are compared without keeping others waiting.
	var best *item
	similarity := threshold
	for _, it := range candidates {
		if it.shelf.tenant != tenant || it.question.Guard != q.Guard || len(it.question.Vector) != len(q.Vector) || now >= it.expires {
			continue
		}
		if s := dot(it.question.Vector, q.Vector); s >= similarity {
			best, similarity = it, s
		}
	}
	if best == nil {
		return Hit{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.items[best.key] != best {
		return Hit{}, false
	}
	hit, ok := m.use(best, now)
	hit.Similarity = min(similarity, 1)
	return hit, ok
}

// enter lists an item in its space.
func (m *Memory) enter(it *item) {
	if full := m.spaces[it.space]; len(full) >= maxSpace {
		m.drop(full[0])
	}
	m.spaces[it.space] = append(m.spaces[it.space], it)
}

func (m *Memory) leave(it *item) {
	rest := slices.DeleteFunc(m.spaces[it.space], func(other *item) bool { return other == it })
	if len(rest) == 0 {
		delete(m.spaces, it.space)
		return
	}
	m.spaces[it.space] = rest
}
