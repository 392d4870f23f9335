package fleet

import (
	"os/exec"
	"path/filepath"

	"edgeguard/internal/program"
)

// upgrade is a fleet beside which nodes of a later version write.
type upgrade struct {
	*guarded
	expect []string // the kinds of alarms that may be raised
}

// joined waits until all nodes are up and in the fleet.
func (u *upgrade) joined() {
	u.t.Helper()
	for _, n := range u.nodes {
		n.joined()
	}
}

// install loads the functions.
func (u *upgrade) install() {
	u.t.Helper()
	password := filepath.Join(u.t.TempDir(), "password")
	write(u.t, password, "operator\n")
	programHere, err := program.Build()
	if err != nil {
		u.t.Fatal(err)
	}
	out, err := exec.Command(programHere, "fleet", "install", "--redis", "redis://"+u.server.Addr, "--password-file", password).CombinedOutput()
	if err != nil {
		u.t.Fatalf("%v: %s", err, out)
	}
}

// restart ends nodes and starts them again.
func (u *upgrade) restart(nodes ...*guardedNode) {
	u.t.Helper()
	for _, n := range nodes {
		n.Stop()
		n.Launch()
	}
	u.joined()
}
