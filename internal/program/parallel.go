package program

import (
	"flag"
	"strconv"
)

// Parallel sets how many parallel tests of a binary run at once, where the command
// line does not. It is for tests that wait for servers and clocks and not for a
// processor: by default no more of them run than there are processors. Called by
// TestMain, which nothing else runs beside.
func Parallel(most int) {
	flag.Parse()
	if set := flag.Lookup("test.parallel"); set.Value.String() == set.DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(most))
	}
}
