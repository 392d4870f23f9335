// Package program runs the real program for tests that treat it from outside as the
// world does. The command is built once for a test binary, or for all of a run, and each
// node has its own folder, which stays between its starts.
package program

import (
	"context"
	"os"
	"sync"
)

// Built names the environment variable that gives a test that started itself
// again, in a namespace say, the program that was built for it.
const Built = "EDGEGUARD_TEST_PROGRAM"

// builtForAll names the one by which scripts/gotest gives all packages the program. It is
// another one: by the first a test knows that it is in its namespace.
const builtForAll = "EDGEGUARD_TEST_BUILT"

// Build builds the command, once, and returns its path. To be followed by Clean
// when all tests have ended.
var Build = sync.OnceValues(func() (string, error) {
	for _, name := range []string{Built, builtForAll} {
		if path := os.Getenv(name); path != "" {
			return path, nil
		}
	}
	var err error
	if built, err = os.MkdirTemp("", "edgeguard"); err != nil {
		return "", err
	}
	if err := os.Chmod(built, 0o755); err != nil { // a test may run it as another user
		return "", err
	}
	return Compile(context.Background(), built, Edgeguard)
})

// built is the folder that Build made.
var built string

// Clean removes what Build made.
func Clean() {
	if built != "" {
		_ = os.RemoveAll(built)
	}
}
