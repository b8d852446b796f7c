package matrix

// How many rows of activations the kernels for several take at once.
const (
	floatRows    = 4
	blockRows    = 4
	blockRows512 = 8
)

// blockRow is a layout's kernels for blocks: for one row and for several.
type blockRow struct{ one, several, one512, several512 blockKernel }
