// Package segments finds out which beginnings of prompts repeat: how much of an
// alias's traffic shares them, which are stable enough to pin in a prefix cache,
// and what breaks them, such as a timestamp at the top.
//
// A Sketch keeps hashes, lengths, roles and positions in bounded memory, and no
// text, unless excerpts are asked for. Time comes in as an argument; a Sketch may
// be used by several goroutines.
package segments
