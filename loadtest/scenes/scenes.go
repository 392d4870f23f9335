// Package scenes makes the traffic that rules are judged by: people and programs
// that a site wants, sites that fail while they are visited, and attackers.
//
// Each [Scene] is an access log in the combined format and a function of its
// seed. The scenes are written from how browsers, WordPress, Joomla, apps and
// robots work, or play what real programs sent ([Scene.From]), and not from the
// rules. So a scene in which a visitor is blocked means that a rule is too strict.
// They are not measured traffic: shares and paces are estimates, on the busy side.
package scenes

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// host is the name of the site that all scenes visit.
const host = "harbour.example"

const origin = "https://" + host

// Kind is what a scene asks of the rules.
type Kind uint8

// The kinds.
const (
	Wanted Kind = iota // nobody may be blocked
	Outage             // the site fails: nobody may be blocked but who attacks it
	Attack             // those who attack are to be stopped, and nobody else
)

// String returns the kind as tables show it.
func (k Kind) String() string { return [...]string{"wanted", "outage", "attack"}[k] }

// Scene is one kind of traffic.
type Scene struct {
	Name string
	// Says is what happens, in a few words.
	Says string
	Kind Kind
	// From names the program whose recorded requests are played; it is empty where
	// the scene is written.
	From   string
	outage *outage // nil: once
	play   func(*log)
}

// Scenes returns all scenes.
func Scenes() []Scene {
	return slices.Concat(wanted, played, crowds, outages, attacks)
}

// Traffic is what happens in a scene.
type Traffic struct {
	// Log is an access log in the combined format, in the order of its times.
	Log []byte
	// Attackers are the addresses of those who attack; all others are wanted.
	Attackers map[netip.Addr]bool
}

// Play returns the scene's traffic.
func (s Scene) Play(seed uint64) Traffic {
	l := &log{rng: rand.New(rand.NewPCG(seed, uint64(len(s.Name))<<32|uint64(s.Name[0]))), attackers: make(map[netip.Addr]bool), outage: once}
	if s.outage != nil {
		l.outage = *s.outage
	}
	s.play(l)
	order := make([]int, len(l.lines)) // lines are long: to sort them takes longer than all else
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(l.lines[a].at, l.lines[b].at), a-b) })
	var text bytes.Buffer
	for _, i := range order {
		l.lines[i].writeTo(&text)
	}
	return Traffic{text.Bytes(), l.attackers}
}

// Reported says which half of the evidence a name belongs to: the half whose
// figures are only reported (true), or the half that limits may be chosen on. A
// scene's name is Scene.Name, that of a labelled address is its log, a slash and
// the address, that of another program's test log the program, a slash and its name.
func Reported(name string) bool { return sha256.Sum256([]byte(name))[0]&1 == 1 }

// morning is 08:00 UTC of a Monday.
const morning = 1772438400

const (
	minute = int64(60)
	hour   = 60 * minute
)

// log is a log that is being made.
type log struct {
	rng       *rand.Rand
	lines     []line
	attackers map[netip.Addr]bool
	outage
}

// line is one request and its answer.
type line struct {
	at             int64
	addr           netip.Addr
	method, target string
	status, bytes  int
	referer, agent string
}

// writeTo writes the line in the combined format.
func (l *line) writeTo(w *bytes.Buffer) {
	b := l.addr.AppendTo(w.AvailableBuffer())
	b = append(b, " - - ["...)
	b = time.Unix(l.at, 0).UTC().AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	b = append(append(append(append(append(b, "] \""...), l.method...), ' '), l.target...), " HTTP/1.1\" "...)
	b = append(strconv.AppendInt(b, int64(l.status), 10), ' ')
	b = append(strconv.AppendInt(b, int64(l.bytes), 10), " \""...)
	b = append(append(b, cmp.Or(l.referer, "-")...), "\" \""...)
	b = append(append(b, cmp.Or(l.agent, "-")...), "\"\n"...)
	w.Write(b)
}

// between returns a number from low to high, both included.
func (l *log) between(low, high int) int { return low + l.rng.IntN(high-low+1) }

// in returns a moment from at until so many seconds later.
func (l *log) in(at, seconds int64) int64 { return at + l.rng.Int64N(seconds+1) }

// one reports true once in n times.
func (l *log) one(n int) bool { return l.rng.IntN(n) == 0 }

func pick[T any](l *log, from []T) T { return from[l.rng.IntN(len(from))] }

// address returns the n-th address of a home: three share a /24, and every fourth is
// IPv6, in a /48 of its own.
func address(n int) netip.Addr {
	if n%4 == 3 {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::%x", 0x100+n, n, 0x2b+n))
	}
	return netip.AddrFrom4([4]byte{10, byte(100 + n/4/250), byte(n / 4 % 250), byte(1 + n*37%199)})
}

// scattered returns the n-th of many addresses of which no two share a /24.
func scattered(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(n / 250), byte(n % 250), byte(1 + n%199)})
}
