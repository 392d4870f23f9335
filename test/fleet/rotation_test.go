package fleet

import (
	"fmt"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/program"
)

// rotation is a fleet whose operators block and unblock while its keys change.
type rotation struct {
	*guarded
	rounds int
	stay   []netip.Prefix // blocks that nobody has taken back
}

// keys gives one node the lines of its key file and has it reload.
func (r *rotation) keys(n *guardedNode, lines ...string) {
	r.t.Helper()
	write(r.t, n.Path("fleet.key"), strings.Join(lines, "\n")+"\n")
	n.reload()
}

// reload has the node read its config again, and the fleet's list.
func (n *guardedNode) reload() {
	n.g.t.Helper()
	answer, err := n.http.Post("http://node/api/v1/reload", "application/json", nil)
	if err != nil {
		n.g.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		n.g.t.Fatalf("%s: reload: %s", n.name, answer.Status)
	}
}

// works blocks on every node and unblocks on the next, and checks that all have the
// same, and that none was rejected.
func (r *rotation) works(when string) {
	r.t.Helper()
	r.rounds++
	prefix := func(i, of int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(of), byte(r.rounds), byte(i)}), 32)
	}
	for i, n := range r.nodes {
		for of := range 2 {
			if _, err := n.admin.Block(background, admin.BlockRequest{Prefix: prefix(i, of).String(), Reason: when}); err != nil {
				r.t.Fatal(err)
			}
		}
		r.stay = append(r.stay, prefix(i, 0))
	}
	for i := range r.nodes {
		other := r.nodes[(i+1)%len(r.nodes)]
		other.Until(when+": "+other.name+" has the block", func() bool { return other.blocks(prefix(i, 1)) })
		if _, err := other.admin.Unblock(background, prefix(i, 1).String(), "back"); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, n := range r.nodes {
		for i := range r.nodes {
			n.Until(fmt.Sprintf("%s: %s has the unblock", when, n.name), func() bool { return !n.blocks(prefix(i, 1)) })
		}
		for _, p := range r.stay {
			n.Until(fmt.Sprintf("%s: %s blocks %s", when, n.name, p), func() bool { return n.blocks(p) })
		}
		if n.alarms()["fleet_rejected"] > 0 {
			r.t.Errorf("%s: %s has rejected a record", when, n.name)
		}
	}
}

// status returns what `edgeguard fleet status` prints for a node's config.
func (r *rotation) status(n *guardedNode) string {
	r.t.Helper()
	return r.command("fleet", "status", "--config", n.Path("config.yaml"))
}

func (r *rotation) command(args ...string) string {
	r.t.Helper()
	programHere, err := program.Build()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := exec.Command(programHere, args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// A rotation through its four steps, node by node, in a fleet that requires signatures:
// nothing is lost and nothing is rejected, and at the end the old key is of no use.
func TestRotation(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	old, fresh := strings.Repeat("5a", 32), strings.Repeat("6b", 32)
	r := &rotation{guarded: startGuarded(t, require)}
	r.works("by the old key")
	for step, lines := range [][]string{{old, fresh}, {fresh, old}} {
		for i, n := range r.nodes {
			r.keys(n, lines...)
			r.works(fmt.Sprintf("step %d on %d nodes", step+1, i+1))
		}
	}
	last := r.nodes[len(r.nodes)-1]
	if says := r.status(last); strings.Count(says, "signed by key") != 2 || !strings.Contains(says, ", 0 unsigned\n") {
		t.Fatalf("before it is signed again, status says\n%s", says)
	}
	if says := r.command("fleet", "sign", "--config", last.Path("config.yaml")); !strings.Contains(says, ", 0 of them unsigned: run") {
		t.Errorf("fleet sign says %q", says)
	}
	r.command("fleet", "sign", "--yes", "--config", last.Path("config.yaml"))
	last.Until("no record is signed by the old key", func() bool { return strings.Count(r.status(last), "signed by key") == 1 })
	for i, n := range r.nodes {
		r.keys(n, fresh)
		r.works(fmt.Sprintf("step 4 on %d nodes", i+1))
	}
	// A node without state has all of it by the new key.
	r.twice(func(when string) {
		for _, n := range r.nodes {
			for _, p := range r.stay {
				if !n.blocks(p) {
					t.Errorf("%s, %s does not block %s", when, n.name, p)
				}
			}
		}
	})
}

// A key file that cannot be read: at a reload the node keeps its key and alarms, and at
// a start it stays out of the fleet, and decides alone.
func TestBadKeyFile(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	r := &rotation{guarded: startGuarded(t, require)}
	first := r.nodes[0]
	r.keys(first, "no key")
	first.Until("it alarms", func() bool { return first.alarms()["fleet_key"] > 0 })
	r.works("with the key that it has")
	if strings.Contains(first.Said(), "no key\n") {
		t.Error("it prints what is in the key file")
	}
	first.Stop()
	first.Launch()
	first.Until("it stays out of the fleet", func() bool {
		s, err := first.admin.Status(background)
		return err == nil && s.Ready && s.Fleet != nil && !s.Fleet.Up && s.Fleet.Trouble == "key"
	})
	if got := first.sends(netip.MustParseAddr("203.0.113.5"), guardedLimit+2); got != 2 {
		t.Errorf("alone it refuses %d of %d requests, want 2", got, guardedLimit+2)
	}
	write(t, first.Path("fleet.key"), strings.Repeat("5a", 32)+"\n")
	first.joined()
	r.works("with the right file")
}
