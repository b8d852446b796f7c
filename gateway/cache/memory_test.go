package cache

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func keyOf(name string) Key {
	var k Key
	copy(k[:], name)
	return k
}

func answerOf(size int) *Answer { return &Answer{Whole: []byte(strings.Repeat("x", size))} }

func TestAnswersAreFoundUntilTheirTimeIsOver(t *testing.T) {
	m := NewMemory(DefaultSize)
	a := answerOf(10)
	m.Put("search", keyOf("k"), a, time.Minute, time.Second)
	hit, ok := m.Get("search", keyOf("k"), 31*time.Second)
	if !ok || hit.Answer != a || hit.Age != 30*time.Second {
		t.Errorf("got %+v, %v", hit, ok)
	}
	if _, ok := m.Get("search", keyOf("other"), 2*time.Second); ok {
		t.Error("another key was found")
	}
	if _, ok := m.Get("search", keyOf("k"), 61*time.Second); ok {
		t.Error("an answer was found after its time")
	}
	if m.Len() != 0 || m.Bytes() != 0 || len(m.shelves) != 0 {
		t.Errorf("%d answers of %d bytes are left", m.Len(), m.Bytes())
	}
}

func TestTenantsNeverMeetEachOthersAnswersEvenUnderOneKey(t *testing.T) {
	m := NewMemory(DefaultSize)
	m.Put("search", keyOf("k"), answerOf(10), time.Minute, 0)
	m.PutNear("search", keyOf("space"), keyOf("q"), Question{Vector: []float32{1, 0}}, answerOf(10), time.Minute, 0)
	if _, ok := m.Get("chat", keyOf("k"), 0); ok {
		t.Error("another tenant's answer was given")
	}
	if _, ok := m.Near("chat", keyOf("space"), Question{Vector: []float32{1, 0}}, 0.5, 0); ok {
		t.Error("another tenant's answer to a similar question was given")
	}
	if _, ok := m.Near("search", keyOf("space"), Question{Vector: []float32{1, 0}}, 0.5, 0); !ok {
		t.Error("its own was not")
	}
}

func TestTheLeastRecentlyUsedGoesFirst(t *testing.T) {
	m := NewMemory(10 * (answerOverhead + 100))
	for i := range 10 {
		m.Put("search", keyOf(fmt.Sprint(i)), answerOf(100), time.Hour, 0)
	}
	m.Get("search", keyOf("0"), 0)
	m.Put("search", keyOf("new"), answerOf(100), time.Hour, 0)
	for name, want := range map[string]bool{"0": true, "1": false, "2": true, "new": true} {
		if _, ok := m.Get("search", keyOf(name), 0); ok != want {
			t.Errorf("answer %s is there: %v", name, ok)
		}
	}
}

func TestATenantThatAsksMuchPushesNobodyOut(t *testing.T) {
	m := NewMemory(20 * (answerOverhead + 100))
	for i := range 8 {
		m.Put("quiet", keyOf(fmt.Sprint("quiet", i)), answerOf(100), time.Hour, 0)
	}
	for i := range 1000 {
		m.Put("loud", keyOf(fmt.Sprint("loud", i)), answerOf(100), time.Hour, 0)
	}
	for i := range 8 {
		if _, ok := m.Get("quiet", keyOf(fmt.Sprint("quiet", i)), 0); !ok {
			t.Errorf("answer %d of the quiet tenant is gone", i)
		}
	}
}

func TestASmallerCacheKeepsWhatWasUsedLast(t *testing.T) {
	m := NewMemory(DefaultSize)
	for i := range 10 {
		m.Put("search", keyOf(fmt.Sprint(i)), answerOf(100), time.Hour, 0)
	}
	m.Resize(3 * (answerOverhead + 100))
	for i := range 10 {
		if _, ok := m.Get("search", keyOf(fmt.Sprint(i)), 0); ok != (i >= 7) {
			t.Errorf("answer %d is there: %v", i, ok)
		}
	}
}

func TestAnswersThatAreTooLargeAreNotKept(t *testing.T) {
	m := NewMemory(4000)
	m.Put("search", keyOf("small"), answerOf(10), time.Hour, 0)
	m.Put("search", keyOf("large"), answerOf(2000), time.Hour, 0)
	if _, ok := m.Get("search", keyOf("large"), 0); ok || m.Len() != 1 {
		t.Error("an answer that would empty the cache was kept")
	}
}

// Whatever is put and asked for, the books are right: the bytes are those of the
// items, within the size, and every list names exactly the items that are there.
func TestTheBooksOfTheCacheAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMemory(20_000)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			tenant := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tenant")
			key := keyOf(tenant + fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "key")))
			now := time.Duration(rapid.IntRange(0, 20).Draw(t, "now"))
			size := rapid.IntRange(0, 6000).Draw(t, "size")
			space := keyOf("space" + tenant)
			q := Question{Vector: []float32{1, float32(size)}}
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				m.Put(tenant, key, answerOf(size), 10, now)
			case 1:
				m.PutNear(tenant, space, key, q, answerOf(size), 10, now)
			case 2:
				m.Get(tenant, key, now)
			case 3:
				m.Near(tenant, space, q, 0, now)
			}
			checkBooks(t, m)
		}
	})
}

func checkBooks(t *rapid.T, m *Memory) {
	var bytes int64
	listed, inSpaces, near := 0, 0, 0
	for _, s := range m.shelves {
		var own int64
		for e := s.recent.Front(); e != nil; e = e.Next() {
			it := e.Value.(*item)
			if m.items[it.key] != it || it.shelf != s {
				t.Fatalf("item %q is listed and not there", it.key[:8])
			}
			if it.space != (Key{}) {
				near++
			}
			own += it.bytes
			listed++
		}
		if own != s.bytes || listed == 0 {
			t.Fatalf("tenant %q holds %d bytes, the books say %d", s.tenant, own, s.bytes)
		}
		bytes += own
	}
	for _, items := range m.spaces {
		for _, it := range items {
			if m.items[it.key] != it {
				t.Fatalf("a space lists an item that is gone")
			}
			inSpaces++
		}
	}
	if bytes != m.bytes || bytes > m.size || listed != len(m.items) || near != inSpaces {
		t.Fatalf("%d bytes in %d items, the books say %d in %d; %d of %d in spaces", bytes, listed, m.bytes, len(m.items), inSpaces, near)
	}
}

func TestTheMostSimilarQuestionWithTheSameGuardIsFound(t *testing.T) {
	m := NewMemory(DefaultSize)
	space := keyOf("space")
	put := func(name, guard string, x, y float32, ttl time.Duration) *Answer {
		v, _ := Unit([]float32{x, y})
		a := answerOf(1)
		m.PutNear("search", space, keyOf(name), Question{Vector: v, Guard: guard}, a, ttl, 0)
		return a
	}
	put("far", "g", 1, 1, time.Hour)
	near := put("near", "g", 10, 1, time.Hour)
	put("expired", "g", 1, 0, time.Second)
	put("other guard", "not:g", 1, 0, time.Hour)
	ask, _ := Unit([]float32{1, 0})
	hit, ok := m.Near("search", space, Question{Vector: ask, Guard: "g"}, 0.9, time.Minute)
	if !ok || hit.Answer != near || hit.Similarity < 0.99 || hit.Similarity >= 1 || hit.Age != time.Minute {
		t.Errorf("got %+v, %v", hit, ok)
	}
	if hit, ok := m.Near("search", space, Question{Vector: ask, Guard: "g"}, 0.999, time.Minute); ok {
		t.Errorf("below the threshold %+v was found", hit)
	}
	if _, ok := m.Near("search", keyOf("elsewhere"), Question{Vector: ask, Guard: "g"}, 0, time.Minute); ok {
		t.Error("an answer of another space was found")
	}
	if _, ok := m.Near("search", space, Question{Vector: ask[:1], Guard: "g"}, 0, time.Minute); ok {
		t.Error("vectors of different lengths were compared")
	}
}

func TestASpaceHoldsABoundedNumberOfQuestions(t *testing.T) {
	m := NewMemory(DefaultSize)
	for i := range maxSpace + 5 {
		m.PutNear("search", keyOf("space"), keyOf(fmt.Sprint(i)), Question{Vector: []float32{1}}, answerOf(1), time.Hour, 0)
	}
	if n := len(m.spaces[keyOf("space")]); n != maxSpace || m.Len() != maxSpace {
		t.Errorf("%d questions, %d answers", n, m.Len())
	}
	if _, ok := m.Get("search", keyOf("4"), 0); ok {
		t.Error("the oldest question is still there")
	}
}

func TestUnitVectors(t *testing.T) {
	for _, v := range [][]float32{nil, {0, 0}, {float32(inf())}} {
		if _, ok := Unit(v); ok {
			t.Errorf("%v has a direction", v)
		}
	}
	u, ok := Unit([]float32{3, 4})
	if s := dot(u, u); !ok || s < 0.9999 || s > 1.0001 {
		t.Errorf("length² %v", s)
	}
}

func inf() float64 { x := 1e308; return x * 10 }

func BenchmarkNear(b *testing.B) {
	m := NewMemory(DefaultSize)
	vector := func() []float32 {
		v := make([]float32, 1024)
		for i := range v {
			v[i] = rand.Float32() - 0.5
		}
		u, _ := Unit(v)
		return u
	}
	for i := range maxSpace {
		m.PutNear("search", keyOf("space"), keyOf(fmt.Sprint(i)), Question{Vector: vector()}, answerOf(1), time.Hour, 0)
	}
	q := Question{Vector: vector()}
	for b.Loop() {
		m.Near("search", keyOf("space"), q, 0.95, 0)
	}
}
