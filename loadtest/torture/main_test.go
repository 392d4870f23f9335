package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// program is the command under test, built once.
var program string

// full says that the tests run at full length.
var full = os.Getenv("TORTURE") != ""

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if underRace {
		fmt.Println("skipped under the race detector: what is tried here is another process, built without it; its parts' own tests run under it")
		return 0
	}
	program = os.Getenv(insideProgram)
	if program != "" { // a test that began itself anew in a namespace
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // a test may run it as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "edgeguard")
	build := exec.Command("go", "build", "-o", program, "edgeguard/cmd/edgeguard")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
		return 1
	}
	return m.Run()
}

// size is how much of something a run has: short in CI, long at full length.
func size(short, long int) int {
	if full {
		return long
	}
	return short
}

// newRand draws from a seed that is printed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SEED=%s: %v", text, err)
		}
		seed = given
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}
