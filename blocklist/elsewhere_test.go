package blocklist

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist/width"
)

// A record of the fleet is in force on others' word, unless this node says the same for as
// long; what confirms it ends that.
func TestElsewhere(t *testing.T) {
	const p = "203.0.113.0/24"
	from := Source{Kind: Signed}
	theirs := Trust{Signed: true}
	for name, c := range map[string]struct {
		do   func(l *List) // with a record of another node in force
		from map[Source]Holdings
	}{
		"as it came":            {func(*List) {}, map[Source]Holdings{from: {1, width.Width{V4: 256}}}},
		"the same came again":   {func(l *List) { agree(t, l, p, 2, theirs) }, map[Source]Holdings{from: {1, width.Width{V4: 256}}}},
		"inside it":             {func(l *List) { agree(t, l, "203.0.113.7/32", 2, theirs) }, map[Source]Holdings{from: {2, width.Width{V4: 256}}}},
		"proven":                {func(l *List) { l.Prove(netip.MustParsePrefix(p), epoch) }, map[Source]Holdings{}},
		"proven, and a new one": {func(l *List) { l.Prove(netip.MustParsePrefix(p), epoch); agree(t, l, p, 3, theirs) }, map[Source]Holdings{}},
		"made here":             {func(l *List) { _, _, _ = l.Add(block(p, time.Hour), false, epoch) }, map[Source]Holdings{}},
		"confirmed here":        {func(l *List) { _, _, _ = l.Confirm(block(p, time.Hour), epoch) }, map[Source]Holdings{}},
		"lifted":                {func(l *List) { l.Lift(netip.MustParsePrefix(p), epoch, "", "") }, map[Source]Holdings{}},
		"ended":                 {func(l *List) { l.Sweep(epoch.Add(2 * time.Hour)) }, map[Source]Holdings{}},
		"of an owner": {func(l *List) {
			b := block("198.51.100.0/24", time.Hour)
			b.Rule = edgeguard.OwnerRule("fail2ban")
			_, _, _ = l.AddOwned(b, epoch)
		}, map[Source]Holdings{from: {1, width.Width{V4: 256}}, {Kind: Owner, Name: "fail2ban"}: {1, width.Width{V4: 256}}}},
		"an allowance": {func(l *List) {
			b := block("2001:db8::/47", time.Hour)
			b.Allow = true
			_, _ = l.Agree(b, Trust{}, epoch)
		}, map[Source]Holdings{from: {1, width.Width{V4: 256}}, {Kind: Unsigned, Allow: true}: {1, width.Width{V6: 2}}}},
		"signed later": {func(l *List) {
			agree(t, l, "198.51.100.0/24", 1, Trust{})
			agree(t, l, "198.51.100.0/24", 1, theirs)
		}, map[Source]Holdings{from: {2, width.Width{V4: 512}}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := New(Config{})
			agree(t, l, p, 1, theirs)
			c.do(l)
			got := l.Elsewhere()
			if len(got) != len(c.from) {
				t.Errorf("%+v", got)
			}
			for from, want := range c.from {
				if got[from] != want {
					t.Errorf("%+v: %+v, want %+v", from, got[from], want)
				}
			}
			again := New(Config{})
			again.Restore(l.Records(), epoch.Add(time.Minute))
			if name != "ended" && len(again.Elsewhere()) != len(c.from) {
				t.Errorf("after a restart: %+v", again.Elsewhere())
			}
		})
	}
}

func agree(t *testing.T, l *List, prefix string, version uint64, trust Trust) {
	t.Helper()
	b := block(prefix, time.Hour)
	b.Version = version
	if _, err := l.Agree(b, trust, epoch); err != nil {
		t.Fatal(err)
	}
}

// Whose word refuses or spares an address is found with it.
func TestFrom(t *testing.T) {
	l := New(Config{Allow: prefixes("192.0.2.0/24")})
	agree(t, l, "203.0.113.0/24", 1, Trust{Signed: true})
	agree(t, l, "198.51.100.0/24", 1, Trust{})
	_, _, _ = l.Add(block("198.51.100.7/32", time.Hour), false, epoch)
	spared := block("203.0.113.128/25", time.Hour)
	spared.Allow = true
	_, _ = l.Agree(spared, Trust{}, epoch)
	for addr, want := range map[string]struct {
		standing Standing
		from     Source
	}{
		"203.0.113.7":   {Blocked, Source{Kind: Signed}},
		"203.0.113.200": {Allowed, Source{Kind: Unsigned, Allow: true}},
		"198.51.100.8":  {Blocked, Source{Kind: Unsigned}},
		"198.51.100.7":  {Blocked, Source{}},
		"192.0.2.1":     {Allowed, Source{}},
		"100.64.0.1":    {None, Source{}},
	} {
		if standing, from := l.StandingAndSource(epoch, netip.MustParseAddr(addr)); standing != want.standing || from != want.from {
			t.Errorf("%s: %s %+v, want %+v", addr, standing, from, want)
		}
	}
}
