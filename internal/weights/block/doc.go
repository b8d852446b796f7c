// Package block knows how weights are stored: number formats of one value each, and
// block formats, in which a few values share a scale. It decodes them, and says how
// large they are.
package block
