package kv

// Block is the index of one physical KV block.
type Block int32

// Null is the block that is never allocated.
const Null Block = 0

// Hash identifies the content of one full block and, through its chain, of
// everything before it. The live engine uses the first 128 bits of SHA-256 over
// the parent hash, the tokens and tagged extras such as the cache salt; a driver
// without tokens can put a 64-bit id in it.
type Hash [16]byte

// BlocksFor returns how many blocks of blockSize tokens hold the given number
// of tokens: ceil(tokens / blockSize).
func BlocksFor(tokens, blockSize int) int {
	return (tokens + blockSize - 1) / blockSize
}
