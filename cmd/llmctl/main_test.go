package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden files and the expected parts of scripts")

func TestMain(m *testing.M) {
	// bench starts its own executable again as the bundled stack, which in a
	// test is the test binary.
	if len(os.Args) > 1 && os.Args[1] == "stack" {
		main()
	}
	testscript.Main(m, map[string]func(){"llmctl": main})
}

// The scripts are transcripts of the command line: standard output, standard
// error, exit codes and files.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE COMMAND ARGS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, code := args[0], "0"
	err := ts.Exec(args[1], args[2:]...)
	if err != nil {
		code = exitCode(err)
	}
	if code != want {
		ts.Fatalf("%v exited with %s (%v), want %s\nstdout:\n%s\nstderr:\n%s", args[1:], code, err, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}
