package vector

// Level is a set of vector instructions. A higher one includes the lower ones.
type Level int

// The levels.
const (
	Plain  Level = iota // plain Go
	AVX2                // with F16C
	AVX512              // F, BW, VL and VNNI
)

// String is the level's name as processors' vendors spell it.
func (l Level) String() string { return [...]string{"plain", "AVX2", "AVX-512 VNNI"}[l] }

var current = Supported()

// Current is the level that kernels use: the highest one there is, unless Use said
// otherwise.
func Current() Level { return current }

// Use limits kernels to a level, or to the highest one there is if that is lower, and
// returns a function that takes it back. It is for tests that compare levels, and
// must not be called while kernels run.
func Use(l Level) (restore func()) {
	before := current
	current = min(l, Supported())
	return func() { current = before }
}
