package matrix

// floatRows is how many rows of activations a kernel for plain numbers takes at once.
const floatRows = 4

// blockRow is a layout's kernels for blocks: for one row and for several.
type blockRow struct {
	one, several       blockKernel
	rows               int
	one512, several512 blockKernel
	rows512            int
}
