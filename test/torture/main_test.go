package torture

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// full says that the tests run at full length.
var full = os.Getenv("TORTURE") != ""

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if underRace {
		fmt.Println("skipped under the race detector: what is tried here is another process, built without it; its parts' own tests run under it")
		return 0
	}
	if flag.Parse(); testing.Short() {
		fmt.Println("skipped with -short: it starts no program that other tests do not start")
		return 0
	}
	defer program.Clean()
	if _, err := program.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
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
