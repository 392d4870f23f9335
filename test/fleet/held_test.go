package fleet

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/redistest"
)

// crowd is how many clients send one request each to every node.
const crowd = 12_000

// newCrowd starts two nodes that have seen a crowd, of which no client is near
// the limit.
func newCrowd(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t, settings{Nodes: 2, Quiet: true, Clients: crowd, Key: true}, redistest.Start(t, redistest.Options{}))
	f.start()
	for _, n := range f.nodes {
		n.see(f.rng.Perm(crowd))
	}
	return f
}

// forge publishes records as a client with the fleet's password could: of blocks by hand, or
// as change has them.
func (f *fleet) forge(prefixes []netip.Prefix, change func(r *aggregator.Record)) {
	f.t.Helper()
	p := &poisoner{f: f}
	for len(prefixes) > 0 {
		some := prefixes[:min(50, len(prefixes))]
		prefixes = prefixes[len(some):]
		args := []any{time.Now().UnixMilli()}
		for _, one := range some {
			args = append(args, one.String(), p.record(one, change), "")
		}
		if err := f.redis.FCall(background, f.lua+"_publish", publishKeys(), args...).Err(); err != nil {
			f.t.Fatal(err)
		}
	}
}

// refused returns how many of the crowd a node refuses.
func (n *node) refused() (count int) {
	for k := range crowd {
		if n.refuses(address(k)) {
			count++
		}
	}
	return count
}

// noneRejected checks that no node has rejected a record: a held block is
// valid.
func (f *fleet) noneRejected() {
	f.t.Helper()
	for _, n := range f.nodes {
		if rejected := n.link.Stats().Rejected; rejected != 0 {
			f.t.Errorf("%s rejects %d blocks", n.name, rejected)
		}
	}
}

// Fault 8: valid blocks that nobody signed and that are wider than a network of one
// site are held on every node. In a fleet with a key the word of one node's operator is signed,
// and has it in force on all.
func TestForgedNetwork(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	f := newCrowd(t)
	wide, nobody := netip.MustParsePrefix("198.18.0.0/16"), netip.MustParsePrefix("203.0.0.0/16")
	f.forge([]netip.Prefix{wide, nobody}, nil)
	for _, n := range f.nodes {
		f.eventually(n.name+" to have read both", func() bool {
			return n.quarantine.Stats().Held == 2
		})
		if got := n.refused(); got != 0 {
			t.Errorf("%s refuses %d clients", n.name, got)
		}
		// It comes again with the whole list, and is the same.
		syncs := n.link.Stats().Syncs
		n.link.Resync()
		f.eventually(n.name+" to have read the list again", func() bool { return n.link.Stats().Syncs > syncs })
		if s := n.quarantine.Stats(); s.Held != 2 || s.Total != 2 || n.refused() != 0 {
			t.Errorf("%s after a full read: %+v, %d refused", n.name, s, n.refused())
		}
	}
	if _, ok, err := f.nodes[0].quarantine.Confirm(f.nodes[0].now(), wide); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for _, n := range f.nodes {
		f.eventually(n.name+" to refuse", func() bool { return n.refuses(address(0)) && n.quarantine.Stats().Held == 1 })
	}
	f.noneRejected()
}

// Fault 8: ten thousand blocks of one client each, most of all clients, are in
// force up to a fifth of the requests; the others' requests pass.
func TestForgedClients(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const forged = 10_000
	f := newCrowd(t)
	var prefixes []netip.Prefix
	for _, k := range f.rng.Perm(crowd)[:forged] {
		prefixes = append(prefixes, prefix(k))
	}
	f.forge(prefixes, nil)
	for _, n := range f.nodes {
		f.eventually(n.name+" to have read all", func() bool { return len(n.blocked())+n.quarantine.Stats().Held == forged })
		// All was sent at once, so that the sample is of about 250 clients: a
		// fifth is 50 of them, and this six standard errors.
		if got := n.refused(); got > crowd*37/100 {
			t.Errorf("%s refuses %d of %d clients", n.name, got, crowd)
		} else {
			t.Logf("%s refuses %d of %d clients: %+v", n.name, got, crowd, n.quarantine.Stats())
		}
	}
	// A word for some of them, on one node, is one for both.
	one := f.nodes[0]
	var meant []netip.Prefix
	for _, held := range one.quarantine.HeldRecords()[:100] {
		meant = append(meant, held.Prefix)
		if _, ok, err := one.quarantine.Confirm(one.now(), held.Prefix); !ok || err != nil {
			t.Fatal(held.Prefix, ok, err)
		}
	}
	// The others of them are taken back.
	for _, held := range one.quarantine.HeldRecords()[:100] {
		if _, ok := one.quarantine.Withdraw(one.now(), held.Prefix, "forged", one.name); !ok {
			t.Fatal(held.Prefix)
		}
	}
	for _, n := range f.nodes {
		f.eventually(n.name+" to have the word", func() bool {
			for _, p := range meant {
				if !n.list.Trust(p).Forced || !n.refuses(p.Addr()) {
					return false
				}
			}
			return len(n.blocked())+n.quarantine.Stats().Held == forged-100
		})
	}
	f.agree()
	f.noneRejected()
}
