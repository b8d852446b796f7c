package portable

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAgainstStandard holds the functions against those of the standard
// library, relative to the result's last place.
func TestAgainstStandard(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	between := func(low, high float64) func() float64 {
		return func() float64 { return low + (high-low)*r.Float64() }
	}
	tests := []struct {
		name      string
		got, want func(float64) float64
		draw      func() float64
		places    float64
	}{
		{"log", Log, math.Log, func() float64 { return math.Ldexp(1+r.Float64(), r.IntN(2000)-1000) }, 2},
		{"log near 1", Log, math.Log, between(0.7, 1.5), 2},
		{"exp", Exp, math.Exp, between(-700, 700), 3},
		{"exp near 0", Exp, math.Exp, between(-1, 1), 3},
		{"sin", SinPi, func(x float64) float64 { return math.Sin(math.Pi * x) }, between(0.01, 0.5), 5},
		{"normal quantile", NormalQuantile, func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }, between(0.001, 0.999), 1 << 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 100_000 {
				x := tt.draw()
				got, want := tt.got(x), tt.want(x)
				place := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
				if math.Abs(got-want) > tt.places*place {
					t.Fatalf("of %v: %v, the standard library has %v: %v places off", x, got, want, math.Abs(got-want)/place)
				}
			}
		})
	}
}

func TestEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name string
		f    func(float64) float64
		x    float64
		want float64
	}{
		{"log of 0", Log, 0, -inf}, {"log of infinity", Log, inf, inf}, {"log below 0", Log, -1, nan}, {"log of NaN", Log, nan, nan}, {"log of 1", Log, 1, 0},
		{"log of the smallest number", Log, math.SmallestNonzeroFloat64, -744.4400719213812},
		{"exp of 0", Exp, 0, 1}, {"exp of −infinity", Exp, -inf, 0}, {"exp of infinity", Exp, inf, inf}, {"exp too large", Exp, 709.8, inf}, {"exp too small", Exp, -750, 0}, {"exp of NaN", Exp, nan, nan},
		{"sin of 0", SinPi, 0, 0}, {"sin of π", SinPi, 1, 0}, {"sin of π/2", SinPi, 0.5, 1}, {"sin of 3π/2", SinPi, 1.5, -1}, {"sin of 1000.5π", SinPi, 1000.5, 1}, {"sin of infinity", SinPi, inf, nan},
		{"lowest quantile", NormalQuantile, 0, -inf}, {"highest quantile", NormalQuantile, 1, inf}, {"median", NormalQuantile, 0.5, 0}, {"no probability", NormalQuantile, 1.5, nan},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.f(tt.x); got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) && !(tt.want != 0 && math.Abs(got/tt.want-1) < 1e-15) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for _, tt := range []struct{ p, want float64 }{ // test values of the paper, and a far tail
		{0.25, -0.6744897501960817}, {0.001, -3.090232306167814}, {1e-20, -9.262340089798408},
	} {
		if got := NormalQuantile(tt.p); math.Abs(got-tt.want) > 1e-14 {
			t.Errorf("quantile of %v: %v, want %v", tt.p, got, tt.want)
		}
	}
}

// TestBits pins every bit of many results. It is what fails on a machine where
// the functions are not portable, or with GOAMD64=v3, which fuses.
func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := fnv.New64a()
	var bytes [8]byte
	put := func(v float64) {
		for i := range bytes {
			bytes[i] = byte(math.Float64bits(v) >> (8 * i))
		}
		_, _ = h.Write(bytes[:])
	}
	for range 100_000 {
		u := float64(r.Uint64()>>11) * 0x1p-53
		put(Log(u))
		put(Exp(float64(u*40) - 20))
		put(SinPi(float64(u * 3)))
		put(NormalQuantile(u))
	}
	const want = 0x3df9bcf16c9fff28
	if got := h.Sum64(); got != want {
		t.Errorf("hash of the results %#x, want %#x", got, uint64(want))
	}
}

func BenchmarkLog(b *testing.B) {
	x, sum := 0.1, 0.0
	for b.Loop() {
		x += 1e-7
		sum += Log(x)
	}
	if sum == 0 {
		b.Fatal(sum)
	}
}

func BenchmarkNormalQuantile(b *testing.B) {
	x, sum := 0.01, 0.0
	for b.Loop() {
		x = math.Mod(x+0.137, 1)
		sum += NormalQuantile(x)
	}
	if sum == 0 {
		b.Fatal(sum)
	}
}
