// Package client sends one streaming request after another to an
// OpenAI-compatible endpoint and writes down in a record what comes back.
//
// Plain HTTP/1.1 travels over package wire, HTTPS, HTTP/2 and proxies over
// net/http; both push the bytes of an answer into the same exchange.
//
// Each read from the socket is stamped when it returns, before anything is
// parsed. There are no hidden retries, and every request ends in exactly one
// outcome of package record.
package client
