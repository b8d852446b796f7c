package main

import (
	stdlog "log"
	"log/slog"
	"strings"
)

// libraryLog takes in what net/http and others write to the standard logger: one
// line each, without what servers said, which some of them quote.
type libraryLog struct{ to *slog.Logger }

// quietLibraries brings the standard logger's lines into the gateway's own log.
func quietLibraries(log *slog.Logger) {
	stdlog.SetFlags(0)
	stdlog.SetOutput(libraryLog{log})
}

func (l libraryLog) Write(p []byte) (int, error) {
	text, _, _ := strings.Cut(strings.TrimSpace(string(p)), "\n")
	text, _, _ = strings.Cut(text, " starting with ") // net/http: an answer that nobody waits for
	l.to.Warn("library", "cause", text)
	return len(p), nil
}
