package conform_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
