package block

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// vector is a line of testdata/vectors.txt, which vectors.py writes.
type vector struct {
	what   string
	t      Type
	data   []byte
	values []float32
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]Type{}
	for at := F32; at < numTypes; at++ {
		named[at.String()] = at
	}
	var all []vector
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		data, err := hex.DecodeString(f[2])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(f[3])
		if err != nil {
			t.Fatal(err)
		}
		v := vector{f[0], named[f[1]], data, make([]float32, len(raw)/4)}
		Decode(v.values, F32, raw)
		all = append(all, v)
	}
	return all
}

// same says whether two values are equal to the bit, or both NaN: which one NumPy
// makes of a NaN depends on the machine.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestDecodesAsTheConvertersOfLlamaCpp(t *testing.T) {
	seen := map[Type]bool{F32: true}
	for _, v := range vectors(t) {
		if v.what != "decode" {
			continue
		}
		seen[v.t] = true
		got := make([]float32, len(v.values))
		Decode(got, v.t, v.data)
		for i := range got {
			if !same(got[i], v.values[i]) {
				t.Errorf("%s: value %d is %g, want %g", v.t, i, got[i], v.values[i])
				break
			}
		}
	}
	for at := F32; at < numTypes; at++ {
		if !seen[at] {
			t.Errorf("no vector of %s", at)
		}
	}
}

func TestEncodesAsTheConvertersOfLlamaCpp(t *testing.T) {
	n := 0
	for _, v := range vectors(t) {
		if v.what != "encode" {
			continue
		}
		n++
		got := make([]byte, len(v.data))
		if err := Encode(got, v.t, v.values); err != nil {
			t.Error(err)
		}
		if string(got) != string(v.data) {
			t.Errorf("%s: %x, want %x", v.t, got, v.data)
		}
	}
	if n != 8 {
		t.Errorf("%d vectors", n)
	}
}

// Every half, bfloat16 and FP8 comes back from its value, a NaN as one.
func TestNumbersComeBack(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := FromHalf(h)
		if nan := h&0x7c00 == 0x7c00 && h&0x3ff != 0; nan != (v != v) || !nan && ToHalf(v) != h || nan && ToHalf(v) != h|0x200 {
			t.Fatalf("half %#04x is %g and comes back as %#04x", h, v, ToHalf(v))
		}
		v = FromBF16(h)
		if nan := h&0x7f80 == 0x7f80 && h&0x7f != 0; nan != (v != v) || !nan && ToBF16(v) != h || nan && ToBF16(v) != h|0x40 {
			t.Fatalf("bfloat16 %#04x is %g and comes back as %#04x", h, v, ToBF16(v))
		}
	}
	for i := range 256 {
		b := byte(i)
		if v := FromF8(b); (b&0x7f == 0x7f) != (v != v) || ToF8(v) != b {
			t.Errorf("FP8 %#02x is %g and comes back as %#02x", b, v, ToF8(v))
		}
	}
}

// To what lies between two neighbours the nearer one is right, and of two that are as
// near the even one. Neighbours are tried in pairs, over the whole range.
func TestRoundsToNearestEven(t *testing.T) {
	check := func(name string, from func(uint16) float32, to func(float32) uint16, largest uint16) {
		for i := range largest {
			low, high := from(i), from(i+1)
			mid := float32((float64(low) + float64(high)) / 2) // exact: a single has more bits
			even := i + i&1
			for _, tc := range []struct {
				v    float32
				want uint16
			}{{mid, even}, {math.Nextafter32(mid, low), i}, {math.Nextafter32(mid, high), i + 1}, {-mid, 0x8000 | even}} {
				if got := to(tc.v); got != tc.want {
					t.Fatalf("%s: %g becomes %#04x, want %#04x", name, tc.v, got, tc.want)
				}
			}
		}
	}
	check("half", FromHalf, ToHalf, 0x7bff)
	check("bfloat16", FromBF16, ToBF16, 0x7f7f)
	sign := func(b byte) uint16 { return uint16(b&0x80)<<8 | uint16(b&0x7f) }
	check("FP8", func(h uint16) float32 { return FromF8(byte(h)) }, func(v float32) uint16 { return sign(ToF8(v)) }, 0x7e)
}

func TestBeyondTheRange(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tc := range []struct {
		name      string
		v         float32
		half      uint16
		bf16      uint16
		f8, minus byte
	}{
		{"infinity", inf, 0x7c00, 0x7f80, 0x7e, 0xfe},
		{"largest single", math.MaxFloat32, 0x7c00, 0x7f80, 0x7e, 0xfe},
		{"last that is no infinite half", math.Nextafter32(65520, 0), 0x7bff, 0x4780, 0x7e, 0xfe},
		{"first infinite half", 65520, 0x7c00, 0x4780, 0x7e, 0xfe},
		{"449", 449, 0x5f04, 0x43e0, 0x7e, 0xfe},
		{"smallest single", math.SmallestNonzeroFloat32, 0, 0, 0, 0x80},
		{"half of the smallest half", 0x1p-25, 0, 0x3300, 0, 0x80},
		{"half of the smallest FP8", 0x1p-10, 0x1400, 0x3a80, 0, 0x80},
		{"NaN", nan, 0x7e00, 0x7fc0, 0x7f, 0xff},
	} {
		if h, b, f := ToHalf(tc.v), ToBF16(tc.v), ToF8(tc.v); h != tc.half || b != tc.bf16 || f != tc.f8 {
			t.Errorf("%s: %#04x %#04x %#02x, want %#04x %#04x %#02x", tc.name, h, b, f, tc.half, tc.bf16, tc.f8)
		}
		if v := math.Float32frombits(math.Float32bits(tc.v) | 1<<31); ToHalf(v) != tc.half|0x8000 || ToBF16(v) != tc.bf16|0x8000 || ToF8(v) != tc.minus {
			t.Errorf("minus %s: %#04x %#04x %#02x", tc.name, ToHalf(v), ToBF16(v), ToF8(v))
		}
	}
}

// An error of Q8_0 is half a step at most, and the rounding of its scale.
func TestQ8_0IsNearItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-1e4, 1e4), 32, 32).Draw(t, "values")
		data, got := make([]byte, 34), make([]float32, 32)
		if err := Encode(data, Q8_0, values); err != nil {
			t.Fatal(err)
		}
		Decode(got, Q8_0, data)
		largest := 0.0
		for _, v := range values {
			largest = max(largest, math.Abs(float64(v)))
		}
		bound := largest/254*1.001 + largest/2048 + 127*0x1p-25
		for i, v := range values {
			if diff := math.Abs(float64(v - got[i])); diff > bound {
				t.Fatalf("%g became %g, more than %g away", v, got[i], bound)
			}
		}
	})
}

func TestWhatCannotBeEncoded(t *testing.T) {
	values := make([]float32, 32)
	large := append([]float32{}, values...)
	large[5] = 1e7
	inf, nan := append([]float32{}, values...), append([]float32{}, values...)
	inf[31], nan[0] = float32(math.Inf(-1)), float32(math.NaN())
	for _, tc := range []struct {
		name   string
		t      Type
		size   int
		values []float32
		want   string
	}{
		{"no type", Invalid, 0, nil, "invalid is no type of stored numbers"},
		{"a type from nowhere", 200, 0, nil, "type 200 is no type of stored numbers"},
		{"half a block", Q8_0, 17, values[:16], "16 values are no whole number of Q8_0 blocks of 32"},
		{"another size", F16, 63, values, "32 values of F16 take 64 bytes, not 63"},
		{"a format that is only read", Q4_K, 0, nil, "Q4_K is only read, not written"},
		{"too large for a scale", Q8_0, 34, large, "encoding values 0 to 31: largest of 1e+07 has no Q8_0 scale"},
		{"infinite", Q8_0, 34, inf, "encoding values 0 to 31: largest of +Inf has no Q8_0 scale"},
		{"NaN", Q8_0, 34, nan, "encoding values 0 to 31: largest of NaN has no Q8_0 scale"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := Encode(make([]byte, tc.size), tc.t, tc.values); err == nil || err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

func TestDecodePanicsOnAProgrammersError(t *testing.T) {
	for name, call := range map[string]func(){
		"size":       func() { Decode(make([]float32, 32), Q8_0, make([]byte, 33)) },
		"half block": func() { Decode(make([]float32, 31), Q8_0, make([]byte, 34)) },
		"no type":    func() { Decode(nil, Invalid, nil) },
	} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "block: ") {
					t.Errorf("%s: %v", name, p)
				}
			}()
			call()
			t.Errorf("%s: no panic", name)
		}()
	}
}

func TestSizes(t *testing.T) {
	for _, tc := range []struct {
		t            Type
		values, size int
	}{{F32, 3, 12}, {F16, 3, 6}, {BF16, 0, 0}, {F8E4M3, 5, 5}, {Q8_0, 64, 68}, {Q4_0, 32, 18}, {Q4_1, 32, 20}, {Q4_K, 512, 288}, {Q6_K, 256, 210}} {
		if got, err := tc.t.Size(tc.values); got != tc.size || err != nil {
			t.Errorf("%d values of %s: %d, %v, want %d", tc.values, tc.t, got, err, tc.size)
		}
	}
	if _, err := F32.Size(math.MaxInt / 2); err == nil {
		t.Error("a size that overflows is accepted")
	}
	if _, err := F32.Size(-1); err == nil {
		t.Error("a negative size is accepted")
	}
}

// FuzzDecode: any bytes decode, to the same values whether at once or block by block.
func FuzzDecode(f *testing.F) {
	for at := F32; at < numTypes; at++ {
		f.Add(uint8(at), make([]byte, 2*at.Bytes()))
	}
	f.Fuzz(func(t *testing.T, number uint8, data []byte) {
		at := Type(number)
		if !at.Valid() {
			return
		}
		blocks := len(data) / at.Bytes()
		data = data[:blocks*at.Bytes()]
		all, one := make([]float32, blocks*at.Elements()), make([]float32, at.Elements())
		Decode(all, at, data)
		for i := range blocks {
			Decode(one, at, data[i*at.Bytes():][:at.Bytes()])
			for j, v := range one {
				if !same(v, all[i*len(one)+j]) {
					t.Fatalf("%s: block %d alone has %g, among others %g", at, i, v, all[i*len(one)+j])
				}
			}
		}
	})
}

// FuzzEncode: numbers of one value round the way back to what they came from.
func FuzzEncode(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, raw []byte) {
		values := make([]float32, len(raw)/4)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		for _, at := range []Type{F32, F16, BF16, F8E4M3} {
			data, again := make([]byte, len(values)*at.Bytes()), make([]byte, len(values)*at.Bytes())
			decoded := make([]float32, len(values))
			if err := Encode(data, at, values); err != nil {
				t.Fatal(err)
			}
			Decode(decoded, at, data)
			if err := Encode(again, at, decoded); err != nil || string(again) != string(data) {
				t.Fatalf("%s: %x became %x: %v", at, data, again, err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for at := F32; at < numTypes; at++ {
		b.Run(at.String(), func(b *testing.B) {
			dst := make([]float32, 1<<16)
			data := make([]byte, len(dst)/at.Elements()*at.Bytes())
			b.SetBytes(int64(4 * len(dst)))
			for b.Loop() {
				Decode(dst, at, data)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	values := make([]float32, 1<<16)
	for i := range values {
		values[i] = float32(i%1000) - 500
	}
	for _, at := range []Type{F16, BF16, F8E4M3, Q8_0} {
		b.Run(at.String(), func(b *testing.B) {
			data := make([]byte, len(values)/at.Elements()*at.Bytes())
			b.SetBytes(int64(4 * len(values)))
			for b.Loop() {
				if err := Encode(data, at, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
