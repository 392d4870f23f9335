package fleet

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard/internal/program"
)

// full says that the tests run at full length.
var full = os.Getenv("TORTURE") != ""

func TestMain(m *testing.M) {
	if flag.Parse(); testing.Short() {
		fmt.Println("skipped with -short: that a Redis and a node are there show the tests of aggregator/redis and node")
		os.Exit(0)
	}
	program.Parallel(size(10, 2))
	// A pool that could not connect tries on by itself, and notices within a
	// second that it was closed.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"),
		goleak.Cleanup(func(code int) {
			healings.print()
			program.Clean()
			os.Exit(code)
		}))
}

// size returns how much of something a run has: short in CI, long at full
// length.
func size(short, long int) int {
	if full {
		return long
	}
	return short
}

// newRand returns a source with a seed that is printed.
func newRand(t testing.TB) *rand.Rand {
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

// quietly runs a test of a fleet that reports every key, and of a quiet one: at full length of
// both, else of the one under the race detector, and of the other without it.
func quietly(t *testing.T, test func(t *testing.T, quiet bool)) {
	for name, quiet := range map[string]bool{"all": false, "quiet": true} {
		if !full && quiet == underRace {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, quiet)
		})
	}
}

// notUnderRace skips what the race detector makes too slow to mean anything.
// One test of every kind of wiring still runs under it.
func notUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("under the race detector only a subset runs: it slows the nodes, and not Redis, tenfold")
	}
}
