package fleet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// Fault 7: blocks and allowances come and go on every node while connections
// are cut, sometimes in the middle of an answer, and Redis drops clients whose
// answers grow too big. In the end every node has the list that the changes
// make, of the same version and digest.
func TestFanOutUnderCuts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	f := newFleet(t, settings{Key: true}, server)
	f.start()
	changes := size(4000, 100_000)
	done := make(chan struct{})
	var working sync.WaitGroup
	editors := make([]*editor, len(f.nodes))
	for i, n := range f.nodes {
		e := &editor{n: n, own: byte(i), rng: rand.New(rand.NewPCG(f.rng.Uint64(), 1)), truth: map[netip.Prefix]word{}}
		editors[i] = e
		working.Go(func() { e.change(changes/len(f.nodes), time.Duration(size(4, 100))*time.Second) })
	}
	go func() { working.Wait(); close(done) }()
	cuts := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(time.Duration(f.rng.Int64N(int64(150 * time.Millisecond)))):
			p := f.nodes[f.rng.IntN(len(f.nodes))].proxy
			switch f.rng.IntN(4) {
			case 0:
				p.Cut()
			case 1:
				p.Set(redistest.Fault{CutReplyAfter: 1 + f.rng.IntN(20_000)})
			case 2:
				p.Set(redistest.Fault{CutAfter: 1 + f.rng.IntN(2000)})
			case 3:
				limit := []string{"normal 20000 0 0", "normal 0 0 0"}[f.rng.IntN(2)]
				server.Client().ConfigSet(background, "client-output-buffer-limit", limit)
			}
			cuts++
		}
	}
	server.Client().ConfigSet(background, "client-output-buffer-limit", "normal 0 0 0")
	for _, n := range f.nodes {
		n.proxy.Heal()
	}
	f.up()
	took := f.same(editors)
	agreed := time.Now()
	f.agree()
	reconnects, syncs := uint64(0), uint64(0)
	for _, n := range f.nodes {
		s := n.link.Stats()
		reconnects, syncs = reconnects+s.Reconnects, syncs+s.Syncs
	}
	t.Logf("%d changes, %d faults, %d reconnects, %d full reads; all lists right %v after the last fault, all beats %v later; %d overruns",
		changes, cuts, reconnects, syncs, took.Round(time.Millisecond), time.Since(agreed).Round(time.Millisecond), strings.Count(server.Log(), "output buffer limits"))
}

// word is an operator's last decision about a prefix.
type word int

const (
	nothing word = iota
	blocked
	allowed
)

// editor is an operator at one node who adds and removes blocks and allowances,
// for some prefixes that no other editor changes and some that others change,
// too.
type editor struct {
	n     *node
	own   byte
	rng   *rand.Rand
	truth map[netip.Prefix]word // of their own prefixes
}

// change makes so many changes, spread over span.
func (e *editor) change(changes int, span time.Duration) {
	const atOnce = 20
	for i := range changes {
		if i%atOnce == 0 {
			time.Sleep(span * atOnce / time.Duration(changes))
		}
		var p netip.Prefix
		mine := e.rng.IntN(2) == 0
		if mine {
			p = edited(1+e.own, e.rng.IntN(1000))
		} else {
			p = edited(0, e.rng.IntN(200))
		}
		if said, ok := e.edit(p); ok && mine {
			e.truth[p] = said
		}
	}
}

// edit changes the state of a prefix, and reports whether anything changed.
func (e *editor) edit(p netip.Prefix) (_ word, ok bool) {
	now := e.n.now()
	b := manualOf(p, e.n)
	b.Until = b.Since.Add(time.Hour + time.Duration(e.rng.IntN(3600))*time.Second)
	var err error
	switch e.rng.IntN(8) {
	case 0, 1:
		_, ok = e.n.list.Lift(p, now, "by hand", e.n.name)
		return nothing, ok
	case 2:
		_, ok = e.n.list.Disallow(p, now, "by hand", e.n.name)
		return nothing, ok
	case 3:
		b.Allow = true
		_, ok, err = e.n.list.Add(b, false, now)
		return allowed, ok && err == nil
	}
	_, ok, err = e.n.list.Add(b, false, now) // refused while it is allowed
	return blocked, ok && err == nil
}

func edited(whose byte, i int) netip.Prefix {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 100<<24|uint32(whose)<<16|uint32(i))
	return netip.PrefixFrom(netip.AddrFrom4(b), 32)
}

// same waits until every node's list is what the editors made of it.
func (f *fleet) same(editors []*editor) time.Duration {
	f.t.Helper()
	begun := time.Now()
	var wrong []string
	for ; time.Since(begun) < patience; time.Sleep(20 * time.Millisecond) {
		wrong = nil
		first := f.nodes[0].held()
		for _, n := range f.nodes[1:] {
			wrong = append(wrong, differences(f.nodes[0].name, first, n.name, n.held())...)
		}
		for _, e := range editors {
			for p, want := range e.truth {
				if is := wordOf(first, p); is != want {
					wrong = append(wrong, fmt.Sprintf("%s is %v, and %s wants %v (0 nothing, 1 blocked, 2 allowed)", p, is, e.n.name, want))
				}
			}
		}
		if len(wrong) == 0 {
			return time.Since(begun)
		}
	}
	f.t.Fatalf("%d things are wrong:\n%s", len(wrong), strings.Join(wrong[:min(8, len(wrong))], "\n"))
	return 0
}

// wordOf returns the state of a prefix in a node's list.
func wordOf(held map[netip.Prefix]edgeguard.Block, p netip.Prefix) word {
	b, ok := held[p]
	switch {
	case !ok:
		return nothing
	case b.Allow:
		return allowed
	}
	return blocked
}
