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

	"edgeguard/admin"
	"edgeguard/internal/nodetest"
)

// before is the newest commit of the version before this one: its records and
// heartbeats have no MAC, and its nodes know of none.
const before = "3e19927"

// buildBefore builds the version before from the repository's history, once.
var buildBefore = sync.OnceValues(func() (program string, err error) {
	folder, err := os.MkdirTemp("", "before")
	if err != nil {
		return "", err
	}
	source := filepath.Join(folder, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	program = filepath.Join(folder, "edgeguard")
	for _, c := range []*exec.Cmd{
		exec.Command("git", "-C", "../..", "archive", "-o", filepath.Join(folder, "source.tar"), before),
		exec.Command("tar", "-C", source, "-xf", filepath.Join(folder, "source.tar")),
		exec.Command("go", "build", "-C", source, "-o", program, "./cmd/edgeguard"),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", c.Args, err, out)
		}
	}
	beforeFolder = folder
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
	// started is the slot in which a node started last: what it counts in that slot is
	// its own.
	started int64
}

// newUpgrade starts four nodes, the last of which are of this version: as many as said,
// in this mode. Its functions are those of the version before or of this one.
func newUpgrade(t *testing.T, fresh int, mode keyMode, oldLibrary bool) *upgrade {
	t.Helper()
	u := &upgrade{guarded: newGuarded(t), old: programBefore(t), counts: make(map[netip.Addr]int)}
	if oldLibrary {
		u.install(u.old)
	} else {
		u.install("")
	}
	for i := range 4 {
		n, of := u.old, noKey
		if i >= 4-fresh {
			n, of = "", mode
		}
		node := u.newNode(fmt.Sprintf("edge-%d", i+1), of, "quiet: false, ")
		node.Program = n
		u.nodes = append(u.nodes, node)
		node.Launch()
	}
	for _, n := range u.nodes {
		n.joined()
	}
	u.started = slotNow()
	return u
}

func slotNow() int64 { return time.Now().Unix() / guardedSlot }

// install loads the functions with a program's own command, "" for this version's.
func (u *upgrade) install(program string) {
	u.t.Helper()
	if program == "" {
		var err error
		if program, err = nodetest.Build(); err != nil {
			u.t.Fatal(err)
		}
	}
	password := filepath.Join(u.t.TempDir(), "password")
	write(u.t, password, "operator\n")
	if out, err := exec.Command(program, "fleet", "install", "--redis", "redis://"+u.server.Addr, "--password-file", password).CombinedOutput(); err != nil {
		u.t.Fatalf("fleet install: %v: %s", err, out)
	}
}

// restart ends a node and starts it as another version.
func (u *upgrade) restart(n *guardedNode, program string) {
	u.t.Helper()
	n.Stop()
	n.Program = program
	n.Launch()
	n.joined()
	u.started = slotNow()
}

// works sends requests to all nodes, makes blocks and allowances on each and takes some
// back on others, and checks that counts and lists are those of one fleet.
func (u *upgrade) works(when string) {
	u.t.Helper()
	u.rounds++
	u.nodes[0].Until("a slot begins after the last start", func() bool { return slotNow() > u.started })
	for i, n := range u.nodes {
		for k := range 24 {
			client := netip.AddrFrom4([4]byte{198, 51, 100, byte(k)})
			if k%4 != i {
				if u.counts[client]++; n.sends(client, 1) != 0 {
					u.t.Errorf("%s: %s refuses %s", when, n.name, client)
				}
			}
		}
	}
	u.counted(when)
	u.changes(when)
	u.agree(when)
}

// counted waits until Redis has of each client what the nodes counted, and no more.
func (u *upgrade) counted(when string) {
	u.t.Helper()
	var wrong []string
	u.nodes[0].Until(when+": the totals are exact", func() bool {
		wrong = wrong[:0]
		for client, want := range u.counts {
			_, suspect := keysOf(client)
			answer, err := u.redis.FCallRO(background, "edgeguard1_split", []string{suspect}, slotNow()).Slice()
			if err != nil {
				u.t.Fatal(err)
			}
			got := 0
			for i := 1; i < len(answer); i += 2 {
				got += int(answer[i].(int64))
			}
			if got > want {
				u.t.Fatalf("%s: %s: %d counted, %d stored", when, client, want, got)
			}
			if got != want {
				wrong = append(wrong, fmt.Sprint(client, got, want))
			}
		}
		return len(wrong) == 0
	})
}

// changes has each node block and allow, and the next of the fleet take some of it back.
func (u *upgrade) changes(when string) {
	u.t.Helper()
	prefix := func(of, i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(of), byte(u.rounds), byte(i)}), 32)
	}
	for i, n := range u.nodes {
		for _, of := range []int{0, 1} {
			if _, err := n.admin.Block(background, admin.BlockRequest{Prefix: prefix(of, i).String(), Reason: when}); err != nil {
				u.t.Fatal(err)
			}
		}
		for _, of := range []int{2, 3} {
			if _, err := n.admin.Allow(background, admin.AllowRequest{Prefix: prefix(of, i).String(), Reason: when}); err != nil {
				u.t.Fatal(err)
			}
		}
	}
	for i := range u.nodes {
		// The farthest node: of the other version, where there are two and two.
		other := u.nodes[(i+2)%len(u.nodes)]
		other.Until(when+": "+other.name+" has the changes", func() bool { return other.blocks(prefix(1, i)) && other.allows(prefix(3, i)) })
		if _, err := other.admin.Unblock(background, prefix(1, i).String(), "back"); err != nil {
			u.t.Errorf("%s: %s: %v", when, other.name, err)
		}
		if _, err := other.admin.Disallow(background, prefix(3, i).String(), "back"); err != nil {
			u.t.Errorf("%s: %s: %v", when, other.name, err)
		}
	}
	for _, n := range u.nodes {
		for i := range u.nodes {
			n.Until(fmt.Sprintf("%s: %s has node %d's", when, n.name, i+1), func() bool {
				return n.blocks(prefix(0, i)) && !n.blocks(prefix(1, i)) && n.allows(prefix(2, i)) && !n.allows(prefix(3, i))
			})
		}
	}
}

// allows reports whether exactly this prefix is allowed on the node.
func (n *guardedNode) allows(p netip.Prefix) bool {
	n.g.t.Helper()
	_, all := n.listed()
	for _, a := range all {
		if a == p {
			return true
		}
	}
	return false
}

// agree checks that all nodes have the same list by its digest, and that none has
// rejected a record.
func (u *upgrade) agree(when string) {
	u.t.Helper()
	u.read()
	digests := func() (all []string) {
		for _, n := range u.nodes {
			b := u.beats()[n.name]
			all = append(all, fmt.Sprintf("%d %s", b.Changes, b.Digest))
		}
		return all
	}
	u.nodes[0].Until(when+": one digest", func() bool {
		all := digests()
		for _, one := range all {
			if one != all[0] || strings.HasSuffix(one, " ") {
				return false
			}
		}
		return true
	})
	for _, n := range u.nodes {
		s, err := n.admin.Status(background)
		if err != nil || !s.Fleet.Up || s.Fleet.Rejected != 0 || s.Fleet.Refused != 0 {
			u.t.Errorf("%s: %s: %+v, %v", when, n.name, s.Fleet, err)
		}
	}
}

// finds sends more than the limit over all nodes, and waits until all refuse the client.
func (u *upgrade) finds(client string) {
	u.t.Helper()
	over := netip.MustParseAddr(client)
	for _, n := range u.nodes {
		n.sends(over, guardedLimit/4+1)
	}
	u.caught(over)
}

// Nodes of this version and of the one before are one fleet: exact totals, one list,
// unblocks and allowances both ways, and no record that one of them rejects.
func TestUpgrade(t *testing.T) {
	notUnderRace(t)
	for name, c := range map[string]struct {
		fresh      int
		mode       keyMode
		oldLibrary bool
	}{
		"no key":                         {2, noKey, false},
		"accept":                         {2, accept, false},
		"new nodes on the old functions": {2, noKey, true},
		"keyed nodes on the old":         {2, accept, true},
		"old nodes on the new functions": {0, noKey, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.mode != noKey && !haveKeys {
				t.Skip("fleet.key_file is not a setting yet")
			}
			t.Parallel()
			u := newUpgrade(t, c.fresh, c.mode, c.oldLibrary)
			u.works("at the start")
			u.finds("198.51.100.200")
			for _, n := range []*guardedNode{u.nodes[0], u.nodes[3]} {
				u.restart(n, n.Program)
			}
			u.works("after restarts")
		})
	}
}

// An upgrade in its order, the functions and then node by node, and the way back.
func TestUpgradeAndBack(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	u := newUpgrade(t, 0, noKey, true)
	u.works("before")
	u.install("")
	for i, n := range u.nodes {
		u.restart(n, "")
		if i%2 == 1 {
			u.works(fmt.Sprintf("%d nodes are new", i+1))
		}
	}
	u.finds("198.51.100.201")
	for i, n := range u.nodes {
		u.restart(n, u.old)
		if i == 1 {
			u.works("2 nodes are old again")
		}
	}
	u.install(u.old)
	u.works("all is as before")
}
