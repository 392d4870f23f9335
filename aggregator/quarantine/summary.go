package quarantine

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"edgeguard/detector"
)

// Summary is what an operator is told of the blocks that wait.
type Summary struct {
	Blocks int
	Origin string  // the node that made most of them
	Others bool    // not all are its
	Share  float64 // of the last five minutes' requests that all which wait would refuse
}

// Summary tells of the blocks that have waited for a word for at least a while:
// in a flood those of the other nodes are here before this node's own counts have
// been answered, and nobody needs to hear of them. What waits for room alone is
// not among them.
func (q *Quarantine) Summary(now time.Time, d *detector.Detector, while time.Duration) (w Summary) {
	q.mu.Lock()
	defer q.mu.Unlock()
	origins := make(map[string]int)
	var v4, v6 [129]bool // the lengths of their prefixes
	for prefix, one := range q.held {
		if one.Share == 0 || now.Sub(one.At) < while {
			continue
		}
		w.Blocks++
		if origins[one.Origin]++; origins[one.Origin] > origins[w.Origin] {
			w.Origin = one.Origin
		}
		if prefix.Addr().Is4() {
			v4[prefix.Bits()] = true
		} else {
			v6[prefix.Bits()] = true
		}
	}
	if w.Blocks == 0 {
		return Summary{}
	}
	w.Others = len(origins) > 1
	lets := q.lets(now)
	w.Share = q.look(now, d).ShareOf(func(addr netip.Addr) bool {
		lengths := &v6
		if addr.Is4() {
			lengths = &v4
		}
		return q.covers(addr, lengths) && lets(addr)
	})
	return w
}

// covers reports whether a held prefix of one of the lengths has the address.
func (q *Quarantine) covers(addr netip.Addr, lengths *[129]bool) bool {
	for bits, used := range lengths[:addr.BitLen()+1] {
		if !used {
			continue
		}
		prefix, _ := addr.Prefix(bits)
		if _, ok := q.held[prefix]; ok {
			return true
		}
	}
	return false
}

// shown gives a name that came from Redis, where anybody may have written it, as
// a terminal and a log may have it.
func shown(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` || name == "" {
		return quoted
	}
	return name
}

// String says it in a sentence.
func (w Summary) String() string {
	blocks, wait, by := "blocks", "wait", shown(w.Origin)
	if w.Blocks == 1 {
		blocks, wait = "block", "waits"
	}
	if w.Others {
		by += " and others"
	}
	return fmt.Sprintf("%d %s by %s would refuse %.0f %% of the last 5 minutes' requests here and %s for a word: edgeguard blocks held",
		w.Blocks, blocks, by, 100*w.Share, wait)
}
