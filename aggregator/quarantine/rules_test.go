package quarantine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// kind makes a record of a prefix.
type kind func(g *door, prefix string) (edgeguard.Block, blocklist.Trust)

func byRule(g *door, prefix string) (edgeguard.Block, blocklist.Trust) {
	b := g.block(prefix, 3)
	b.Rule = "site"
	return b, blocklist.Trust{}
}

func signed(g *door, prefix string) (edgeguard.Block, blocklist.Trust) {
	b, _ := byRule(g, prefix)
	return b, blocklist.Trust{Signed: true}
}

func forced(g *door, prefix string) (edgeguard.Block, blocklist.Trust) {
	return g.block(prefix, 3), blocklist.Trust{Forced: true}
}

func allowance(g *door, prefix string) (edgeguard.Block, blocklist.Trust) {
	b := g.block(prefix, 3)
	b.Allow, b.Rule = true, ""
	return b, blocklist.Trust{Forced: isWide(b.Prefix)}
}

func unblock(g *door, prefix string) (edgeguard.Block, blocklist.Trust) {
	b, t := forced(g, prefix)
	return blocklist.Tombstone(b, g.now, "enough", "edge-2"), t
}

// outcome is what a node does with a record.
type outcome string

const (
	inForce  outcome = "in force"
	refused  outcome = "refused: protected"
	held     outcome = "held: too_much"
	heldWide outcome = "held: wide"
)

// outcome merges a record and returns what came of it.
func (g *door) outcome(b edgeguard.Block, t blocklist.Trust) outcome {
	g.t.Helper()
	_, err := g.Admit(g.now, g.d, b, t)
	i := slices.IndexFunc(g.HeldRecords(), func(one Held) bool { return one.Prefix == b.Prefix })
	switch {
	case errors.Is(err, aggregator.ErrHeld) && i >= 0:
		return outcome("held: " + g.HeldRecords()[i].Why.String())
	case errors.Is(err, blocklist.ErrProtected):
		return refused
	case err != nil || i >= 0 || g.list.Version(b.Prefix) != b.Version:
		return outcome(fmt.Sprintf("%v, held %v, version %d", err, i >= 0, g.list.Version(b.Prefix)))
	}
	return inForce
}

// What a record may do, signed and not, as ADR 22 decided: row by row. Most of this
// node's requests came from 198.18.0.0/23, few from 198.19.0.0/24, none from elsewhere.
func TestWhatARecordMayDo(t *testing.T) {
	for _, row := range []struct {
		name             string
		kind             kind
		prefix           string
		signed, unsigned outcome
	}{
		{"a rule's block of most requests", byRule, "198.18.0.0/22", held, heldWide},
		{"a rule's block of a /24 of many", byRule, "198.18.1.0/24", held, held},
		{"a rule's block of few", byRule, "198.19.0.0/24", inForce, inForce},
		{"a rule's block of a /23", byRule, "203.0.112.0/23", inForce, heldWide},
		{"a rule's block of an IPv6 /48", byRule, "2001:db8::/48", inForce, inForce},
		{"a rule's block of an IPv6 /47", byRule, "2001:db8::/47", inForce, heldWide},
		{"a forced block of most requests", forced, "198.18.0.0/16", inForce, heldWide},
		{"a forced block of a /24 of many", forced, "198.18.1.0/24", inForce, held},
		{"a forced block of few", forced, "198.19.0.0/24", inForce, inForce},
		{"a forced block of an address", forced, "198.19.0.1/32", inForce, inForce},
		{"a forced /16", forced, "203.0.0.0/16", inForce, heldWide},
		{"a forced /8", forced, "203.0.0.0/8", inForce, heldWide},
		{"a forced IPv6 /48", forced, "2001:db8::/48", inForce, inForce},
		{"a forced IPv6 /31", forced, "2001:db8::/31", inForce, heldWide},
		{"a rule's block of what is protected", byRule, "192.0.2.7/32", refused, refused},
		{"a forced block of what is protected", forced, "192.0.2.7/32", refused, refused},
		{"a block around what is protected", byRule, "192.0.2.0/24", inForce, inForce},
		{"a forced block around what is protected", forced, "192.0.0.0/16", inForce, heldWide},
		{"an allowance of an address", allowance, "198.18.0.1/32", inForce, inForce},
		{"an allowance of a /24", allowance, "198.18.0.0/24", inForce, inForce},
		{"an allowance of a /23", allowance, "198.18.0.0/23", inForce, heldWide},
		{"an allowance of an /8", allowance, "198.0.0.0/8", inForce, heldWide},
		{"an allowance of an IPv6 /48", allowance, "2001:db8::/48", inForce, inForce},
		{"an allowance of an IPv6 /47", allowance, "2001:db8::/47", inForce, heldWide},
		{"an unblock", unblock, "198.18.0.1/32", inForce, inForce},
		{"an unblock of a /16", unblock, "198.18.0.0/16", inForce, inForce},
		{"an unblock of a /15 that is not blocked here", unblock, "198.18.0.0/15", inForce, heldWide},
	} {
		for _, signed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, signed %v", row.name, signed), func(t *testing.T) {
				g := newDoor(t)
				g.asked(18, 500, 6)
				g.asked(19, 200, 2)
				b, trust := row.kind(g, row.prefix)
				trust.Signed = signed
				want := row.unsigned
				if signed {
					want = row.signed
				}
				if got := g.outcome(b, trust); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if s, _ := g.list.Find(g.now, guarded.Addr()); s != blocklist.Protected {
					t.Errorf("what is protected is %s", s)
				}
			})
		}
	}
}

// A wide forced block waits on a node without traffic too: it could not be weighed.
func TestWideWaitsWithoutTraffic(t *testing.T) {
	g := newDoor(t)
	b, trust := forced(g, "10.0.0.0/12")
	if got := g.outcome(b, trust); got != heldWide {
		t.Errorf("%s", got)
	}
	g.now = g.now.Add(10 * time.Minute)
	g.Sweep(g.now, g.d)
	g.waits("10.0.0.0/12", true)
	g.SetLimit(1)
	g.waits("10.0.0.0/12", true)
}

// What was forced before the upgrade stays in force when its record is read again. So
// does what an operator of this node made.
func TestKnownRecordsStay(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	old, trust := forced(g, "198.0.0.0/10")
	if n := g.list.Restore(func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		yield(old, blocklist.Trust{Forced: true, Here: true})
	}, g.now); n != 0 {
		t.Fatal("refused")
	}
	own, _, err := g.list.Add(g.block("203.0.0.0/8", 1), true, g.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []edgeguard.Block{old, own} {
		if got := g.outcome(b, trust); got != inForce || !g.list.Trust(b.Prefix).Here {
			t.Errorf("%s: %s, %+v", b.Prefix, got, g.list.Trust(b.Prefix))
		}
	}
}

// A newer record of what is in force for as long already does not wait: another node's
// operator has confirmed it. One that lasts longer does.
func TestInForceAlready(t *testing.T) {
	for _, c := range []struct {
		kind   kind
		prefix string
		want   outcome
	}{{forced, "203.0.0.0/15", heldWide}, {allowance, "198.18.0.0/20", heldWide}} {
		g := newDoor(t)
		b, trust := c.kind(g, c.prefix)
		if _, _, err := g.list.Add(b, true, g.now); err != nil {
			t.Fatal(err)
		}
		b.Version += 1 << 30
		if got := g.outcome(b, trust); got != inForce {
			t.Errorf("%s: %s", c.prefix, got)
		}
		b.Version, b.Until = b.Version+1, b.Until.Add(time.Hour)
		if got := g.outcome(b, trust); got != c.want {
			t.Errorf("%s, for longer: %s", c.prefix, got)
		}
	}
}

// A record that waits goes in when it comes again with a good MAC.
func TestSignedLater(t *testing.T) {
	for _, c := range []struct {
		kind   kind
		prefix string
	}{{forced, "203.0.0.0/15"}, {forced, "198.18.0.0/16"}, {allowance, "198.18.0.0/23"}, {unblock, "198.18.0.0/15"}} {
		g := newDoor(t)
		g.asked(18, 1000, 3)
		b, trust := c.kind(g, c.prefix)
		for range 2 {
			if _, err := g.Admit(g.now, g.d, b, trust); !errors.Is(err, aggregator.ErrHeld) {
				t.Errorf("%s: %v", b.Prefix, err)
			}
		}
		trust.Signed = true
		if got := g.outcome(b, trust); got != inForce || g.Stats().Total != 1 {
			t.Errorf("%s: %s, %+v", b.Prefix, got, g.Stats())
		}
	}
}

// Confirm puts in force whatever waits, with the next version, forced and signed, but
// overrides nothing that is protected. Withdraw takes back all but an unblock, as
// forced as it was: no other node accepts a wide tombstone else.
func TestConfirmOfEachKind(t *testing.T) {
	for name, c := range map[string]struct {
		kind      kind
		prefix    string
		withdrawn bool
	}{
		"block":     {forced, "192.0.0.0/10", true},
		"allowance": {allowance, "198.18.0.0/20", true},
		"unblock":   {unblock, "198.18.0.0/15", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, confirm := range []bool{true, false} {
				g := newDoor(t)
				g.list.SetSigns(true)
				b, trust := c.kind(g, c.prefix)
				if _, err := g.Admit(g.now, g.d, b, trust); !errors.Is(err, aggregator.ErrHeld) {
					t.Fatal(err)
				}
				if !confirm {
					if _, ok := g.Withdraw(g.now, b.Prefix, "no", "edge-1"); ok != c.withdrawn {
						t.Errorf("withdrawn %v", ok)
					}
					g.waits(c.prefix, !c.withdrawn)
					if left := g.list.Trust(b.Prefix); c.withdrawn && left != (blocklist.Trust{Forced: trust.Forced, Signed: true}) {
						t.Errorf("the tombstone has %+v, and the record had %+v", left, trust)
					}
					continue
				}
				got, ok, err := g.Confirm(g.now, b.Prefix)
				if !ok || err != nil || got.Version <= b.Version || got.Lifted != b.Lifted || got.Allow != b.Allow {
					t.Fatalf("%+v, %v, %v", got, ok, err)
				}
				if trust := g.list.Trust(b.Prefix); trust != (blocklist.Trust{Forced: true, Signed: true}) {
					t.Errorf("%+v", trust)
				}
				g.waits(c.prefix, false)
				if s, _ := g.list.Find(g.now, guarded.Addr()); s != blocklist.Protected {
					t.Errorf("what is protected is %s", s)
				}
			}
		})
	}
}

// This node's own block of a prefix does not release an allowance or an unblock that
// waits: only a held block agrees with it.
func TestOwnBlockReleasesNoAllowance(t *testing.T) {
	for _, c := range []struct {
		kind   kind
		prefix string
	}{{allowance, "198.18.0.0/20"}, {unblock, "198.18.0.0/15"}} {
		g := newDoor(t)
		b, trust := c.kind(g, c.prefix)
		if _, err := g.Admit(g.now, g.d, b, trust); !errors.Is(err, aggregator.ErrHeld) {
			t.Fatal(err)
		}
		if _, err := g.list.Force(g.block(c.prefix, 1), g.now); err != nil {
			t.Fatal(err)
		}
		g.Sweep(g.now, g.d)
		g.waits(c.prefix, true)
		g.inForce(c.prefix, true)
	}
}

// A restart keeps what waits, and why.
func TestWhyOverARestart(t *testing.T) {
	g := newDoor(t)
	g.asked(18, 1000, 3)
	for _, c := range []struct {
		kind   kind
		prefix string
	}{{byRule, "198.18.0.0/16"}, {forced, "203.0.0.0/15"}, {allowance, "198.18.0.0/20"}, {unblock, "198.18.0.0/15"}} {
		b, trust := c.kind(g, c.prefix)
		if _, err := g.Admit(g.now, g.d, b, trust); !errors.Is(err, aggregator.ErrHeld) {
			t.Fatal(err)
		}
	}
	for k := range mostOthers + 3 { // three unblocks wait for room
		b, trust := unblock(g, netip.PrefixFrom(client(20, k), 32).String())
		_, _ = g.Admit(g.now, g.d, b, trust)
	}
	saved := g.HeldRecords()
	for i := range saved { // what the state file has
		saved[i].Why = tooMuch
	}
	next := newDoor(t)
	next.Restore(next.now, saved, nil)
	if got, want := fmt.Sprint(next.HeldRecords()), fmt.Sprint(g.HeldRecords()); got != want || len(saved) != 7 {
		t.Errorf("%s\nwant %s", got, want)
	}
	next.Sweep(next.now.Add(time.Second), next.d)
	if s := next.Stats(); s.Held != 4 || s.AdmittedLater != 3 {
		t.Errorf("%+v", s)
	}
}
