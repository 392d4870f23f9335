package access

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// fewGuesses are the wrong secrets that an address, and manyGuesses those that
	// all addresses together, may show in a minute before they have to wait.
	fewGuesses  = 5
	manyGuesses = 100
	guessSpan   = time.Minute
	// firstWait is doubled up to longestWait each time, until there was none for
	// an hour.
	firstWait   = time.Minute
	longestWait = 15 * time.Minute
	forgiven    = time.Hour
	// mostGuessers and mostKnown bound the addresses that are kept.
	mostGuessers = 4096
	mostKnown    = 256
	knownFor     = 30 * 24 * time.Hour
	// mostReports are the guessers of an hour that are worth a report: a botnet
	// must not fill the audit.
	mostReports = 20
)

// guess is one wrong secret, and when it was last shown.
type guess struct {
	secret uint64
	at     time.Time
}

// guesser is one address, or all of them.
type guesser struct {
	shown []guess   // within the span
	until time.Time // waits until then
	wait  time.Duration
	last  time.Time
}

// Guesses bounds how often wrong secrets can be tried. A secret that is shown
// again is no other guess: a program with an old token locks nobody out. Many
// addresses together lock out only those that never showed a right one. Sessions,
// links, the unix socket and a proxy's users are no guesses, so that an operator
// always has a way in. It is safe for concurrent use. Make one with [newGuesses].
type Guesses struct {
	mu    sync.Mutex // guards what is below
	by    map[netip.Prefix]*guesser
	all   guesser
	known map[netip.Prefix]time.Time // addresses that showed a right secret

	reports  int // since reported
	reported time.Time
}

// newGuesses returns an empty memory.
func newGuesses() *Guesses {
	return &Guesses{by: make(map[netip.Prefix]*guesser), known: make(map[netip.Prefix]time.Time)}
}

// place is what is counted together: an IPv4 address or an IPv6 /64.
func place(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // an invalid address is one place, too
	return p
}

// Try notes that an address showed a secret, by a hash, and returns how long the
// address has to wait: if at all, then whether the secret was right must not show,
// or the wait would bound nothing. report is true when the address has to wait from
// now on and did not for an hour.
func (g *Guesses) Try(addr netip.Addr, secret uint64, right bool, now time.Time) (wait time.Duration, report bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := place(addr)
	if wait = g.wait(at, now); wait > 0 {
		return wait, false
	}
	if right {
		g.right(at, now)
		return 0, false
	}
	return 0, g.wrong(at, secret, now)
}

// wait returns how long a place has to wait; 0 for not at all.
func (g *Guesses) wait(at netip.Prefix, now time.Time) time.Duration {
	wait := time.Duration(0)
	if one, ok := g.by[at]; ok {
		wait = one.until.Sub(now)
	}
	if seen, ok := g.known[at]; !ok || now.Sub(seen) >= knownFor {
		wait = max(wait, g.all.until.Sub(now))
	}
	return max(wait, 0)
}

// right notes that a place showed a right secret.
func (g *Guesses) right(at netip.Prefix, now time.Time) {
	if _, ok := g.known[at]; !ok && len(g.known) >= mostKnown {
		delete(g.known, leastOf(g.known, func(t time.Time) time.Time { return t }))
	}
	g.known[at] = now
}

// wrong notes a wrong secret of a place, and reports whether it is worth a report.
func (g *Guesses) wrong(at netip.Prefix, secret uint64, now time.Time) bool {
	one, ok := g.by[at]
	if !ok {
		if len(g.by) >= mostGuessers {
			delete(g.by, leastOf(g.by, func(one *guesser) time.Time { return one.last }))
		}
		one = &guesser{}
		g.by[at] = one
	}
	if !one.wrong(secret, fewGuesses, now) {
		return false
	}
	g.all.wrong(0, manyGuesses, now)
	return one.wait == firstWait && now.Before(one.until) && g.mayReport(now)
}

// mayReport counts a report, and returns false if there were many.
func (g *Guesses) mayReport(now time.Time) bool {
	if now.Sub(g.reported) >= time.Hour {
		g.reports, g.reported = 0, now
	}
	g.reports++
	return g.reports <= mostReports
}

// leastOf returns the key with the earliest time.
func leastOf[V any](m map[netip.Prefix]V, at func(V) time.Time) (least netip.Prefix) {
	first := true
	var earliest time.Time
	for key, v := range m {
		if t := at(v); first || t.Before(earliest) {
			least, earliest, first = key, t, false
		}
	}
	return least
}

// wrong counts a secret, and reports whether it is another than before. A secret
// of 0 always is.
func (g *guesser) wrong(secret uint64, most int, now time.Time) bool {
	g.shown = slices.DeleteFunc(g.shown, func(one guess) bool { return now.Sub(one.at) >= guessSpan })
	same := slices.IndexFunc(g.shown, func(one guess) bool { return one.secret == secret && secret != 0 })
	if same >= 0 {
		g.shown[same].at = now
		return false
	}
	if now.Sub(g.last) >= forgiven {
		g.wait = 0
	}
	g.last = now
	if g.shown = append(g.shown, guess{secret, now}); len(g.shown) >= most {
		g.wait = min(max(2*g.wait, firstWait), longestWait)
		g.until, g.shown = now.Add(g.wait), g.shown[:0]
	}
	return true
}
