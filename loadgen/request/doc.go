// Package request writes what is sent: the bodies of requests in each dialect,
// with prompts of the length that the workload asks for.
//
// A text is a digit followed by words, each of which is preceded by a space. In
// the vocabularies of today's models a common word with the space before it is
// one token, whatever stands around it, and a digit is one token even at the
// very beginning of a message; so the tokens of a prompt are its words plus what
// the chat template adds, and both can be found with a few requests (Calibrate)
// without the target's tokenizer.
package request
