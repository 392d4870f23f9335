// Package benign makes the traffic of people and programs that a site wants:
// offices and mobile carriers behind one address, apps, services, crawlers, and
// readers of pages with dead links. No rule that ships may block any of it.
//
// Each [Scene] is an access log in the combined format and a function of its
// seed. The scenes are written from how browsers, WordPress, Joomla, apps and
// robots work, and not from the rules. So a scene that is blocked means that a
// rule is too strict. They are not measured traffic: shares and paces are
// estimates, on the busy side.
package benign

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// host is the name of the site that all scenes visit.
const host = "harbour.example"

const origin = "https://" + host

// Scene is one kind of traffic.
type Scene struct {
	Name string
	// Says is what happens, in a few words.
	Says string
	play func(*log)
}

// Scenes returns all scenes.
func Scenes() []Scene {
	return []Scene{
		{"office", "50 people behind one address; all log in within half an hour, 10 % mistype 1 to 3 times", office},
		{"carrier", "200 readers behind one address of a mobile carrier, in one evening", carrier},
		{"forgetful", "people at home who try six passwords and then ask for a new one", forgetful},
		{"editors", "WordPress editors: autosave, uploads, and a tab whose session has ended", editors},
		{"joomla", "Joomla editors: lists filtered by POST, saves, mistyped logins", joomlaEditors},
		{"portal", "30 people behind one address in an application whose sessions end: its scripts then answer 403", portal},
		{"phone", "WordPress' app on phones: 40 calls of XML-RPC a day, in bursts", phones},
		{"app", "an app with an API: bursts after a pause, and tokens that have expired", app},
		{"jetpack", "Jetpack: XML-RPC from few addresses, and its monitor", jetpack},
		{"hot-linked", "readers of another site that shows 60 deleted images of this one", hotLinked},
		{"forum", `a forum page with <img src="/.env"> and three more like it`, forum},
		{"broken-theme", "a theme that asks for 25 styles and scripts that are not there", brokenTheme},
		{"crawler", "crawlers of a site that was moved: every fourth page is gone", crawlers},
		{"monitor", "uptime monitors, one of them of a page that is not there", monitors},
		{"feeds", "feed readers, some of a feed that is gone", feeds},
	}
}

// Write writes the scene's log to w, in the order of its times. Its error is w's.
func (s Scene) Write(w io.Writer, seed uint64) error {
	l := &log{rng: rand.New(rand.NewPCG(seed, uint64(len(s.Name))<<32|uint64(s.Name[0])))}
	s.play(l)
	slices.SortStableFunc(l.lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	out := bufio.NewWriter(w)
	for i := range l.lines {
		if _, err := out.WriteString(l.lines[i].String()); err != nil {
			return err
		}
	}
	return out.Flush()
}

// morning is 08:00 UTC of a Monday.
const morning = 1772438400

const (
	minute = int64(60)
	hour   = 60 * minute
)

// log is a log that is being made.
type log struct {
	rng   *rand.Rand
	lines []line
}

// line is one request and its answer.
type line struct {
	at             int64
	addr           netip.Addr
	method, target string
	status, bytes  int
	referer, agent string
}

// String returns the line in the combined format.
func (l line) String() string {
	return fmt.Sprintf("%s - - [%s] \"%s %s HTTP/1.1\" %d %d \"%s\" \"%s\"\n", l.addr,
		time.Unix(l.at, 0).UTC().Format("02/Jan/2006:15:04:05 -0700"), l.method, l.target, l.status, l.bytes,
		cmp.Or(l.referer, "-"), cmp.Or(l.agent, "-"))
}

// between returns a number from low to high, both included.
func (l *log) between(low, high int) int { return low + l.rng.IntN(high-low+1) }

// in returns a moment from at until so many seconds later.
func (l *log) in(at, seconds int64) int64 { return at + l.rng.Int64N(seconds+1) }

// one reports true once in n times.
func (l *log) one(n int) bool { return l.rng.IntN(n) == 0 }

func pick[T any](l *log, from []T) T { return from[l.rng.IntN(len(from))] }

// address returns the n-th address of a documentation range; every fourth is
// IPv6, in a /64 of its own.
func address(n int) netip.Addr {
	if n%4 == 3 {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::%x", 0x100+n/16, n, 0x2b+n))
	}
	return netip.AddrFrom4([4]byte{203, 0, byte(113 + n/200), byte(1 + n%200)})
}
