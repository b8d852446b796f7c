// Package attention is the paged KV memory of the CPU executor and the attention that
// reads it.
//
// K and V are reached only through block tables, in order of position. A token's
// attention is the same to the bit whatever else is in the step, however its prompt was
// cut, wherever its blocks lie and whoever computes which part of it: positions are cut
// into chunks at fixed places, sums within a chunk run in ascending order of position,
// each product rounded before it is added, and the chunks' results are folded in
// ascending order. Speed comes from computing many outputs at once, and from reading K
// and V once for all rows that see them: the query heads that share a KV head, the
// tokens of a prompt that lie together, and sequences whose tables name the same blocks.
package attention
