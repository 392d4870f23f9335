package fleet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/safetext"
)

// works sends requests to all nodes, makes blocks and allowances on each and takes some
// back on others, and checks that counts and lists are those of one fleet.
func (u *upgrade) works(when string) {
	u.t.Helper()
	began := time.Now()
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
	u.crossing(when)
	u.changes(when)
	u.counted(when)
	u.agree(when)
	u.t.Logf("%s: %v", when, time.Since(began).Round(100*time.Millisecond))
}

// counted waits until Redis has of each client what the nodes counted, and no more.
func (u *upgrade) counted(when string) {
	u.t.Helper()
	var wrong []string
	defer func() {
		if u.t.Failed() {
			u.t.Logf("%s: wrong: %v", when, wrong)
		}
	}()
	u.nodes[0].Until(when+": the totals are exact", func() bool {
		wrong = wrong[:0]
		splits := map[netip.Addr]*goredis.Cmd{}
		pipe := u.redis.Pipeline()
		for client := range u.counts {
			_, suspect := keysOf(client)
			splits[client] = pipe.FCallRO(background, "edgeguard1_split", []string{suspect}, slotNow())
		}
		if _, err := pipe.Exec(background); err != nil {
			u.t.Fatal(err)
		}
		for client, want := range u.counts {
			got, answer := 0, splits[client].Val().([]any)
			for i := 1; i < len(answer); i += 2 {
				got += int(answer[i].(int64))
			}
			if got > want {
				u.t.Fatalf("%s: %s: %d counted, %d stored", when, client, want, got)
			}
			if got != want {
				wrong = append(wrong, fmt.Sprintf("%s: %d counted, %d stored", client, want, got))
			}
		}
		return len(wrong) == 0
	})
}

// crossing has a client send more than the limit over all nodes, and less on nodes of
// one version. All refuse it until a node of the other end of the fleet unblocks it;
// then its counts begin again on each.
func (u *upgrade) crossing(when string) {
	u.t.Helper()
	over := netip.AddrFrom4([4]byte{198, 51, 101, byte(u.rounds)})
	for _, n := range u.nodes {
		n.sends(over, guardedLimit/4+1)
	}
	u.caught(over)
	lifts := u.nodes[u.rounds%len(u.nodes)]
	prefix := netip.PrefixFrom(over, 32)
	if _, err := lifts.admin.Unblock(background, prefix.String(), "a customer"); err != nil {
		u.t.Fatalf("%s: %s: %v", when, lifts.name, err)
	}
	for _, n := range u.nodes {
		n.Until(fmt.Sprintf("%s: %s has %s unblocked", when, n.name, over), func() bool { return !n.blocks(prefix) })
		if n.sends(over, guardedLimit/4-1) != 0 {
			u.t.Errorf("%s: %s refuses %s after its unblock", when, n.name, over)
		}
	}
}

// changes has each node block and allow, and the next of the fleet take some of it back.
func (u *upgrade) changes(when string) {
	u.t.Helper()
	prefix := func(of, i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, byte(of), byte(u.rounds), byte(i)}), 32)
	}
	for i, n := range u.nodes {
		for _, of := range []int{0, 1} {
			if _, err := n.admin.Block(background, admin.BlockRequest{Prefix: prefix(of, i).String(), Reason: when, Force: u.forces && i%2 == 1}); err != nil {
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
	all, err := n.admin.Allowances(background)
	if err != nil {
		n.g.t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(a admin.Allowance) bool { return a.Prefix == p })
}

// records returns what is in force on the node, one line each. The times of a record
// are rounded on their way through a state file.
func (n *guardedNode) records() (all []string) {
	n.g.t.Helper()
	at := func(t time.Time) string { return t.Round(10 * time.Second).Format(time.TimeOnly) }
	for b, err := range n.admin.Blocks(background, client.Filter{}) {
		if err != nil {
			n.g.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s is blocked by %s of %s for %q, %s to %s, %d of %d", b.Prefix, b.Rule, b.Origin, safetext.Strip(b.Reason), at(b.Since), at(b.Until), b.Count, b.Limit))
	}
	allowances, err := n.admin.Allowances(background)
	if err != nil {
		n.g.t.Fatal(err)
	}
	for _, a := range allowances {
		all = append(all, fmt.Sprintf("%s is allowed by %s of %s for %q, %s to %s", a.Prefix, a.Source, a.Origin, a.Reason, at(a.Since), at(a.Until)))
	}
	slices.Sort(all)
	return all
}

// agree waits until all nodes have read the list that is in Redis, by its version and
// digest, and checks that it is one list, that no node has rejected or held anything,
// and that none has raised an alarm that is not expected.
func (u *upgrade) agree(when string) {
	u.t.Helper()
	var why string
	defer func() {
		if u.t.Failed() {
			u.t.Logf("%s: %s", when, why)
		}
	}()
	u.nodes[0].Until(when+": one digest", func() bool {
		time.Sleep(50 * time.Millisecond)
		why = u.disagreement()
		return why == ""
	})
	for _, n := range u.nodes {
		for _, other := range u.nodes {
			n.Until(fmt.Sprintf("%s: %s shows %s", when, n.name, other.name), func() bool { return n.shows(other.name) })
		}
	}
	first := u.nodes[0].records()
	for _, n := range u.nodes {
		if list := n.records(); !slices.Equal(list, first) {
			u.t.Errorf("%s: %s has another list than %s:\n%s\nand not\n%s", when, n.name, u.nodes[0].name,
				strings.Join(list, "\n"), strings.Join(first, "\n"))
		}
		s, err := n.admin.Status(background)
		if err != nil || !s.Fleet.Up || s.Fleet.Rejected != 0 || s.Fleet.Refused != 0 || s.Fleet.Came != 0 {
			u.t.Errorf("%s: %s: %+v, %v", when, n.name, s.Fleet, err)
		}
		for kind, times := range n.alarms() {
			if times > 0 && !slices.Contains(u.expect, kind) {
				u.t.Errorf("%s: %s raised %s %d times", when, n.name, kind, times)
			}
		}
	}
}

// disagreement compares the nodes' heartbeats with what is in Redis.
func (u *upgrade) disagreement() string {
	f := fleet{redis: u.redis}
	version, digest, records, err := f.list()
	if err != nil {
		return err.Error()
	}
	if sum := digestOf(records); sum != digest {
		return fmt.Sprintf("Redis' digest %s, its records' %s", digest, sum)
	}
	beats := u.beats()
	for _, n := range u.nodes {
		if b := beats[n.name]; b.Changes != version || b.Digest != digest {
			return fmt.Sprintf("%s has read version %d, digest %s; Redis %d, %s", n.name, b.Changes, b.Digest, version, digest)
		}
	}
	return ""
}

// commands checks that the commands of both versions show and change the nodes of both.
func (u *upgrade) commands() {
	u.t.Helper()
	for i, program := range []string{u.old, ""} {
		status := u.command(program, "fleet", "status", "--config", u.nodes[0].Path("config.yaml"))
		for j, n := range u.nodes {
			if !strings.Contains(status, n.name) {
				u.t.Errorf("fleet status of %q lacks %s:\n%s", program, n.name, status)
			}
			at := []string{"--admin", "unix:" + n.Path("admin.sock")}
			target := fmt.Sprintf("203.4.%d.%d", i, j)
			u.command(program, append([]string{"blocks", "add", target, "--for", "10m", "--reason", "by a command"}, at...)...)
			for _, shows := range [][]string{{"blocks", "list", "--rows", "0"}, {"explain", target}} {
				if out := u.command(program, append(shows, at...)...); !strings.Contains(out, target) {
					u.t.Errorf("%v of %q on %s lacks %s:\n%s", shows, program, n.name, target, out)
				}
			}
		}
	}
}
