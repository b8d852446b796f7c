// Package house holds the rules of this repository as tests: which package may
// import which, that every package says what it is for, and who may touch the
// process. It has no code of its own.
package house
