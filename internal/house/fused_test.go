//go:build integration

package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unfused are the packages whose floats reach results. A compiler for arm64 and
// others makes one instruction with one rounding of x*y + z, unless the product is
// converted explicitly, so that results would depend on the machine.
var unfused = []string{
	"internal/portable", "loadgen/workload", "sizing/shape", "sizing/cost", "simulator", "simulator/study", "reports/stats", "reports/record", "reports",
}

// fusedAt is an instruction that multiplies and adds, with the line that it is of.
var fusedAt = regexp.MustCompile(`\(([^()]+\.go:\d+)\)\s+FN?M(?:ADD|SUB)[DS]\s`)

func TestNoFusedArithmetic(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-gcflags=-S"}
	for _, p := range unfused {
		args = append(args, "./"+p)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	listing, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, listing[max(0, len(listing)-2000):])
	}
	if !strings.Contains(string(listing), "FMULD") {
		t.Fatal("the listing has no product of floats: this test sees nothing")
	}
	seen := map[string]bool{}
	for _, m := range fusedAt.FindAllStringSubmatch(string(listing), -1) {
		if at, ours := strings.CutPrefix(m[1], root+"/"); ours && !seen[at] {
			seen[at] = true
			t.Errorf("%s is fused on arm64: convert the product, float64(x*y) + z", at)
		}
	}
}
