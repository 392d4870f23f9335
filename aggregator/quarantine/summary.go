package quarantine

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"edgeguard/detector"
)

// Summary is what an operator is shown of the held blocks.
type Summary struct {
	Blocks int
	Origin string  // the node that made most of them
	Others bool    // not all are its
	Share  float64 // of the last five minutes' requests, that they would refuse together
}

// Summary returns the blocks that have awaited confirmation for at least a
// while. In a flood, other nodes' blocks arrive before this node's own counts
// have been answered, and no operator needs to see those. Blocks that wait for
// the budget are not included.
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
	passes := q.passes(now)
	w.Share = q.recentSample(now, d).ShareOf(func(addr netip.Addr) bool {
		lengths := &v6
		if addr.Is4() {
			lengths = &v4
		}
		return q.covers(addr, lengths) && passes(addr)
	})
	return w
}

// covers reports whether a held prefix of one of the lengths contains the
// address.
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

// printable returns a name that came from Redis, where any client may have
// written it, in a form that is safe for a terminal and a log.
func printable(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` || name == "" {
		return quoted
	}
	return name
}

// String returns a sentence.
func (w Summary) String() string {
	blocks, await, by := "blocks", "await", printable(w.Origin)
	if w.Blocks == 1 {
		blocks, await = "block", "awaits"
	}
	if w.Others {
		by += " and others"
	}
	return fmt.Sprintf("%d %s by %s would refuse %.0f %% of the last 5 minutes' requests here and %s confirmation: edgeguard blocks held",
		w.Blocks, blocks, by, 100*w.Share, await)
}
