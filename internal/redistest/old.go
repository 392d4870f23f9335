package redistest

import "testing"

// StartOld runs a Redis that knows no functions: the one that [binary] chooses
// where that is older than 7, and else one that they were taken from, which
// refuses them in the same words.
func StartOld(t testing.TB) *Server {
	t.Helper()
	version, major := Version(t)
	if major < 7 {
		t.Logf("redistest: a real %s", version)
		return Start(t, Options{})
	}
	t.Logf("redistest: a %s without its functions: %s may name an older one", version, binary)
	var args []string
	for _, command := range []string{"FCALL", "FCALL_RO", "FUNCTION"} {
		args = append(args, "--rename-command", command, "")
	}
	return Start(t, Options{Args: args})
}
