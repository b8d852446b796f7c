package main

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/llmctl/llmctl/loadgen/mock"
)

var update = flag.Bool("update", false, "rewrite golden files and the expected parts of scripts")

func TestMain(m *testing.M) {
	// bench starts its own executable again as the bundled stack, which in a
	// test is the test binary.
	if len(os.Args) > 1 && os.Args[1] == "stack" || os.Getenv("LLMCTL_TEST_MAIN") != "" {
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
			"await": await,
			"mock":  startMock,
		},
	})
}

// await waits until a file has so many bytes, at least one: await FILE [BYTES].
func await(ts *testscript.TestScript, neg bool, args []string) {
	bytes := int64(1)
	if len(args) == 2 {
		_, err := fmt.Sscan(args[1], &bytes)
		ts.Check(err)
	}
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: await FILE [BYTES]")
	}
	path := ts.MkAbs(args[0])
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if info, err := os.Stat(path); err == nil && info.Size() >= bytes {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear", args[0])
}

// startMock serves a faultless mock until the script ends, and puts its address in
// a variable: mock VARIABLE KEY.
func startMock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mock VARIABLE KEY")
	}
	server := httptest.NewServer(&mock.Server{APIKey: args[1]})
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
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
