// Package check looks at requests and answers before they pass: whether a
// request makes sense to any engine, and whether texts hold what a content
// filter forbids. Everything here is a pure function of its input. Checks are as
// lenient as engines are: fields that they do not know pass, and so does what
// some engine is known to take. What they refuse is refused in OpenAI's words,
// before it costs a slot in an engine.
package check
