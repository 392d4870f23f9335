package attack

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

const (
	// quiet is how long after its last crossing or refusal an attack has ended.
	quiet = 15 * time.Minute
	// longestBlock is how much of a block's time counts as its crossing's: who goes on under a longer
	// one, or comes after it, is another attack.
	longestBlock = time.Hour
	// A group begins with so many networks within this time.
	groupOf, groupWithin = 10, 10 * time.Minute
	// halfDay is how long a row has gone on that ends at midnight.
	halfDay = 12 * time.Hour
	day     = 24 * time.Hour
	// networkV4 and networkV6 are the bits of a network.
	networkV4, networkV6 = 24, 48
)

// Outcome is what came of a crossing. A row has the outcomes of all of its.
type Outcome uint8

// What comes of crossings.
const (
	Watched Outcome = 1 << iota // nothing: the rule is in shadow
	Denied                      // what matches the rule is refused
	Stood                       // a block stood already
	Blocked                     // a block
)

// Crossing is that a key went over a rule's limit.
type Crossing struct {
	Rule string
	Key  netip.Prefix
	// Everybody says that the key has no address. With are its attributes then, as shown, and Count and Limit its own.
	Everybody    bool
	With         string
	Count, Limit uint32
	Time         time.Time // by the wall clock
	Until        time.Time // the end of the block that came of it; zero for none
	Kind         Outcome
	Here         bool // this node made it: its block, or its denial
	Told         bool // somebody was told of it, as before a restart
	heard        bool // another node tells of it
}

// NetworkOf returns the network that attacks are told by: the /24 or /48 around a prefix, or itself
// if it is wider.
func NetworkOf(p netip.Prefix) netip.Prefix {
	bits := networkV6
	if p.Addr().Is4() {
		bits = networkV4
	}
	return netip.PrefixFrom(p.Addr(), min(bits, p.Bits())).Masked()
}

// reach returns the second up to which a crossing belongs together with another.
func (c *Crossing) reach() int64 {
	end := c.Time
	if c.Until.After(end) {
		end = c.Until
	}
	if most := c.Time.Add(longestBlock); end.After(most) {
		end = most
	}
	return end.Add(quiet).Unix()
}

// cut reports whether what has gone on since first ends before a crossing at a second.
func cut(first, at int64) bool {
	return dayOf(at)*int64(day/time.Second)-first >= int64(halfDay/time.Second)
}

// dayOf returns the number of a second's day.
func dayOf(second int64) int64 {
	n := second / int64(day/time.Second)
	if second%int64(day/time.Second) < 0 {
		n--
	}
	return n
}

// place is what a run is of: a network, or a key without an address, which nothing else joins.
type place struct {
	rule      string
	network   netip.Prefix
	everybody bool
	with      [8]byte // of the key's attributes
}

// placeOf returns the place of a crossing.
func placeOf(c *Crossing) place {
	if c.Everybody {
		return place{rule: c.Rule, everybody: true, with: fingerprint(c.With)}
	}
	return place{rule: c.Rule, network: NetworkOf(c.Key)}
}

// fingerprint stands for attributes. A client writes them, and must not make two that are one.
func fingerprint(with string) (of [8]byte) {
	sum := sha256.Sum256([]byte(with))
	copy(of[:], sum[:])
	return of
}

// compare orders places.
func (p place) compare(q place) int {
	return cmp.Or(strings.Compare(p.rule, q.rule), p.network.Compare(q.network), bytes.Compare(p.with[:], q.with[:]))
}

// everybody is how an ID has a key without an address, before what stands for its attributes.
const everybody = "everybody-"

// idTime is how an ID has a time.
const idTime = "20060102T150405Z"

// idOf returns the ID of a first crossing. It is part of addresses of pages, and is typed.
func idOf(p place, first int64) string {
	network := everybody + hex.EncodeToString(p.with[:])
	if !p.everybody {
		network = p.network.Addr().String()
	}
	if !p.everybody && NetworkOf(netip.PrefixFrom(p.network.Addr(), p.network.Addr().BitLen())) != p.network {
		network += "-" + strconv.Itoa(p.network.Bits())
	}
	return p.rule + "_" + network + "_" + time.Unix(first, 0).UTC().Format(idTime)
}

// parseID reads an ID; false if it is none.
func parseID(id string) (p place, first int64, ok bool) {
	id, when, _ := cutLast(id, "_")
	rule, network, found := cutLast(id, "_")
	at, err := time.Parse(idTime, when)
	if !found || err != nil {
		return place{}, 0, false
	}
	if with, of := strings.CutPrefix(network, everybody); of {
		p = place{rule: rule, everybody: true}
		n, err := hex.Decode(p.with[:], []byte(with[:min(len(with), 2*len(p.with))]))
		return p, at.Unix(), err == nil && n == len(p.with) && hex.EncodeToString(p.with[:]) == with && isRule(rule)
	}
	text, bits, wide := strings.Cut(network, "-")
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return place{}, 0, false
	}
	length := addr.BitLen()
	if wide {
		if length, err = strconv.Atoi(bits); err != nil {
			return place{}, 0, false
		}
	}
	p = place{rule: rule, network: NetworkOf(netip.PrefixFrom(addr, length))}
	return p, at.Unix(), p.network.IsValid() && isRule(rule)
}

// isRule reports whether a rule can have a name.
func isRule(name string) bool {
	return name != "" && len(name) <= 64 && safetext.Clean(name) && name != edgeguard.ManualRule && edgeguard.Owner(name) == ""
}

// ParseID returns the rule, the network, which is not valid for a key without an address, and the time of an ID's crossing; false if it is none.
func ParseID(id string) (rule string, network netip.Prefix, began time.Time, ok bool) {
	p, first, ok := parseID(id)
	return p.rule, p.network, time.Unix(first, 0).UTC(), ok
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}
