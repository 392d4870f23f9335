package fleet

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/internal/nodetest"
)

// before is the newest commit of the version before this one: its records and
// heartbeats have no MAC, and its nodes know of none.
const before = "3e19927"

// buildBefore builds the version before from the repository's history, once. The
// compiler's cache serves every later test run, since no path is part of the program.
var buildBefore = sync.OnceValues(func() (program string, err error) {
	if beforeFolder, err = os.MkdirTemp("", "before"); err != nil {
		return "", err
	}
	source := filepath.Join(beforeFolder, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	program = filepath.Join(beforeFolder, "edgeguard")
	for _, c := range []*exec.Cmd{
		exec.Command("git", "-C", "../..", "archive", "-o", filepath.Join(beforeFolder, "source.tar"), before),
		exec.Command("tar", "-C", source, "-xf", filepath.Join(beforeFolder, "source.tar")),
		exec.Command("go", "build", "-C", source, "-trimpath", "-o", program, "./cmd/edgeguard"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", c.Args, err, out)
		}
	}
	return program, os.RemoveAll(source)
})

// beforeFolder is what TestMain removes.
var beforeFolder string

// programBefore returns the program of the version before, and skips the test where the
// repository has no history.
func programBefore(t *testing.T) string {
	t.Helper()
	if err := exec.Command("git", "-C", "../..", "cat-file", "-e", before+"^{commit}").Run(); err != nil {
		t.Skipf("the version before cannot be built: there is no commit %s here (%v)", before, err)
	}
	program, err := buildBefore()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// upgrade is a fleet of two versions whose nodes report every key.
type upgrade struct {
	*guarded
	old    string             // the program of the version before
	counts map[netip.Addr]int // what the nodes counted together
	rounds int
	expect []string // the kinds of alarms that may be raised
	// forces says that some blocks are forced. A state file with what was forced on
	// another node is set aside by the version before.
	forces bool
	// started is the slot in which a node started last: what it counts in that slot is
	// its own.
	started int64
}

// change is what happens to a mixed fleet.
type change string

const (
	restarts       change = "after restarts"
	otherFunctions change = "with its own functions again"
	redisEmptied   change = "after Redis was emptied"
)

// mixed is a fleet of four nodes, the last of which are of this version: as many as
// fresh says, in this mode.
type mixed struct {
	fresh      int
	mode       keyMode
	oldLibrary bool
	oldACL     bool // the Redis user is the one that the version before prints
	expect     []string
	then       []change
}

// newUpgrade starts a fleet.
func newUpgrade(t *testing.T, c mixed) *upgrade {
	t.Helper()
	u := &upgrade{guarded: newGuarded(t), old: programBefore(t), counts: make(map[netip.Addr]int), expect: c.expect, forces: true}
	if c.oldACL {
		u.setUser(u.old)
	}
	if c.oldLibrary {
		u.install(u.old)
	} else {
		u.install("")
	}
	for i := range 4 {
		program, of := u.old, noKey
		if i >= 4-c.fresh {
			program, of = "", c.mode
		}
		node := u.newNode(fmt.Sprintf("edge-%d", i+1), of, "quiet: false, ")
		node.Program = program
		u.nodes = append(u.nodes, node)
		node.Launch()
	}
	u.joined()
	return u
}

// joined waits until all nodes are up and in the fleet.
func (u *upgrade) joined() {
	u.t.Helper()
	for _, n := range u.nodes {
		n.joined()
	}
	u.started = slotNow()
}

func slotNow() int64 { return time.Now().Unix() / guardedSlot }

// command runs a program's own command, "" for this version's, and returns its output.
func (u *upgrade) command(program string, args ...string) string {
	u.t.Helper()
	if program == "" {
		var err error
		if program, err = nodetest.Build(); err != nil {
			u.t.Fatal(err)
		}
	}
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		u.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// install loads the functions of a program.
func (u *upgrade) install(program string) {
	u.t.Helper()
	password := filepath.Join(u.t.TempDir(), "password")
	write(u.t, password, "operator\n")
	u.command(program, "fleet", "install", "--redis", "redis://"+u.server.Addr, "--password-file", password)
}

// setUser gives the nodes the Redis user that a program prints.
func (u *upgrade) setUser(program string) {
	u.t.Helper()
	config := filepath.Join(u.t.TempDir(), "config.yaml")
	write(u.t, config, fmt.Sprintf("fleet: {redis: \"redis://127.0.0.1\", namespace: %s}\nrules: [{name: a, threshold: 40, window: 5m}]\n", namespace))
	line, _, _ := strings.Cut(u.command(program, "fleet", "acl", "edge", "--config", config), "\n")
	var args []any
	for field := range strings.FieldsSeq(strings.Replace(line, ">PASSWORD", "reset on >node", 1)) {
		args = append(args, field)
	}
	if err := u.redis.Do(background, args...).Err(); err != nil {
		u.t.Fatalf("%q: %v", line, err)
	}
}

// restart ends nodes and starts them as another version, "" for this one.
func (u *upgrade) restart(program string, nodes ...*guardedNode) {
	u.t.Helper()
	for _, n := range nodes {
		n.Stop()
		n.Program = program
		n.Launch()
	}
	u.joined()
}

// Nodes of this version and of the one before are one fleet: exact totals, one list,
// crossings that both counted, unblocks and allowances both ways, and no record that
// one of them rejects.
func TestUpgrade(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for name, c := range map[string]mixed{
		"no key":                         {fresh: 2, mode: noKey, then: []change{restarts}},
		"no key with the user of before": {fresh: 2, mode: noKey, oldACL: true, then: []change{redisEmptied, restarts}},
		"accept":                         {fresh: 2, mode: accept, then: []change{restarts}, expect: []string{"fleet_unsigned"}},
		"new nodes on the old functions": {fresh: 2, mode: noKey, oldLibrary: true, oldACL: true, then: []change{restarts, otherFunctions}, expect: []string{"fleet_library"}},
		"keyed nodes on the old":         {fresh: 2, mode: accept, oldLibrary: true, then: []change{otherFunctions}, expect: []string{"fleet_library", "fleet_unsigned"}},
		"old nodes on the new functions": {mode: noKey, oldACL: true},
		"functions are taken back":       {fresh: 2, mode: accept, then: []change{otherFunctions}, expect: []string{"fleet_library", "fleet", "fleet_unsigned"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrade(t, c)
			u.works("at the start")
			u.commands()
			for _, what := range c.then {
				u.change(what, c.oldLibrary)
			}
		})
	}
}

// change has something happen to the fleet, after which it must work as before.
func (u *upgrade) change(what change, oldLibrary bool) {
	u.t.Helper()
	switch what {
	case restarts:
		u.restart(u.nodes[0].Program, u.nodes[0])
		u.restart(u.nodes[3].Program, u.nodes[3])
	case otherFunctions:
		there, other := "", u.old
		if oldLibrary {
			there, other = other, there
		}
		u.install(other)
		u.works("with the other version's functions")
		u.install(there)
	case redisEmptied:
		if err := u.redis.FlushAll(background).Err(); err != nil {
			u.t.Fatal(err)
		}
	}
	u.works(string(what))
}

// An upgrade in its order, the functions and then node by node, and the way back.
func TestUpgradeAndBack(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	u := newUpgrade(t, mixed{mode: noKey, oldLibrary: true, oldACL: true})
	u.forces = false
	u.works("before")
	u.install("")
	u.setUser("")
	u.restart("", u.nodes[:2]...)
	u.works("2 nodes are new")
	u.restart("", u.nodes[2:]...)
	u.works("all are new")
	u.restart(u.old, u.nodes[1:3]...)
	u.works("2 nodes are old again")
	u.restart(u.old, u.nodes[0], u.nodes[3])
	u.setUser(u.old)
	u.install(u.old)
	u.works("all is as before")
	// What the first run of this version left on the disk is not that of the last.
	u.install("")
	u.restart("", u.nodes[1:3]...)
	u.works("2 nodes are new again")
}
