// Package redistest starts real redis-servers for tests: one ([Start]), a Redis Cluster
// ([StartCluster]), a master under three Sentinels ([StartSentinel]). A TCP proxy
// breaks connections on request ([NewProxy]). There is no stand-in for Redis anywhere
// in the project: what fails in the field is the real one.
//
// Every server listens on a free port of loopback, keeps its files in a directory
// of the test, and may hold 256 MB at most by default. It is killed by its process
// id when the test ends; on Linux also when the test's process dies first. Where
// redis-server is absent the test is skipped.
//
// The server is the redis-server of the PATH, or the binary that the
// environment variable EDGEGUARD_TEST_REDIS names: a Valkey, or another
// version. What that one was built without (TLS), or is too old for, is skipped
// with a message.
//
// Functions that take a testing.TB fail the test and are to be called from its
// goroutine. The methods of [Server] and [Proxy] may be called concurrently.
package redistest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long anything here may take before the test fails. It is
// generous: the machine may be busy with other tests, and nothing waits longer
// than it has to.
const patience = 30 * time.Second

// binary names the environment variable that chooses another server.
const binary = "EDGEGUARD_TEST_REDIS"

// Path returns the server's binary, or skips the test where there is none. A
// [binary] that does not exist is an error: it was asked for.
func Path(t testing.TB) string {
	t.Helper()
	if chosen := os.Getenv(binary); chosen != "" {
		path, err := exec.LookPath(chosen)
		if err != nil {
			t.Fatalf("redistest: %s: %v", binary, err)
		}
		return path
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed (apt-get install redis-server)")
	}
	return path
}

// Version is what the server's binary says that it is, "7.0.15" say, and the
// first of its numbers.
func Version(t testing.TB) (version string, major int) {
	t.Helper()
	said, err := exec.Command(Path(t), "--version").Output()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	_, rest, _ := strings.Cut(string(said), " v=")
	version, _, _ = strings.Cut(rest, " ")
	first, _, _ := strings.Cut(version, ".")
	if major, err = strconv.Atoi(first); err != nil {
		t.Fatalf("redistest: no version in %q", said)
	}
	return version, major
}
