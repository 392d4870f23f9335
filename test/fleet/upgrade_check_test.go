package fleet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
)

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
		all = append(all, fmt.Sprintf("%s is blocked by %s of %s for %q, %s to %s, %d of %d", b.Prefix, b.Rule, b.Origin, b.Reason, at(b.Since), at(b.Until), b.Count, b.Limit))
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
