// Package client sends one streaming request after another to an
// OpenAI-compatible endpoint and writes down in a record what comes back.
//
// Each read from the socket is stamped when it returns, before anything is
// parsed. There are no hidden retries, and every request ends in exactly one
// outcome of package record.
package client
