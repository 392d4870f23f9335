package quarantine

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"edgeguard/detector"
	"edgeguard/internal/safetext"
)

// Summary is what an operator is shown of the held records.
type Summary struct {
	// Blocks and Allowances await confirmation, and so do Unblocks of wide networks.
	Blocks, Allowances, Unblocks int
	Origin                       string  // the node that made most of them
	Others                       bool    // not all are its
	Share                        float64 // of the last five minutes' requests, that the blocks would refuse together
	// Paced need no confirmation: they wait since too many came within a minute. Unseen
	// networks wait for a confirmation, or until this node has seen enough requests.
	Paced, Unseen int
	// Wide are the blocks that wait for how much of the address space they cover.
	Wide int
	// Some would refuse less than the limit, and wait because blocks in force have Used too
	// much of it.
	Some        bool
	Used, Limit float64
}

// IsAny reports whether there is anything to show.
func (w *Summary) IsAny() bool { return w.Blocks+w.Allowances+w.Unblocks+w.Paced+w.Unseen > 0 }

// Summary returns the records that have been held for at least a while. In a
// flood, other nodes' blocks arrive before this node's own counts have been
// answered, and no operator needs to see those. Blocks that wait for the budget
// are not included.
func (q *Quarantine) Summary(now time.Time, d *detector.Detector, while time.Duration) (w Summary) {
	q.mu.Lock()
	defer q.mu.Unlock()
	origins := make(map[string]int)
	var v4, v6 [129]bool // the lengths of the blocks' prefixes
	for prefix, one := range q.held {
		if one.Why == tooMuch && one.Share == 0 || now.Sub(one.At) < while {
			continue
		}
		switch one.Why {
		case Pace:
			w.Paced++
			continue
		case Unseen:
			w.Unseen++
			continue
		}
		w.count(&one)
		w.Some = w.Some || one.Why == tooMuch && one.Share <= q.limit
		if origins[one.Origin]++; origins[one.Origin] > origins[w.Origin] {
			w.Origin = one.Origin
		}
		switch {
		case !isBlock(&one.Block):
		case prefix.Addr().Is4():
			v4[prefix.Bits()] = true
		default:
			v6[prefix.Bits()] = true
		}
	}
	w.Others, w.Used, w.Limit = len(origins) > 1, q.budget.sum.usedBeside(false), q.limit
	if w.Blocks == 0 {
		return w
	}
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

// count adds one record that awaits confirmation.
func (w *Summary) count(one *Held) {
	switch {
	case one.Lifted:
		w.Unblocks++
	case one.Allow:
		w.Allowances++
	default:
		w.Blocks++
		if one.Why == Wide {
			w.Wide++
		}
	}
}

// covers reports whether a held block of one of the lengths contains the address.
func (q *Quarantine) covers(addr netip.Addr, lengths *[129]bool) bool {
	for bits, used := range lengths[:addr.BitLen()+1] {
		if !used {
			continue
		}
		prefix, _ := addr.Prefix(bits)
		if one, ok := q.held[prefix]; ok && one.Why != Pace && one.Why != Unseen && isBlock(&one.Block) {
			return true
		}
	}
	return false
}

// printable returns a name that came from Redis, where any client may have
// written it, in a form that is safe for a terminal and a log.
func printable(name string) string {
	name = safetext.Cut(name, 64)
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` || name == "" {
		return quoted
	}
	return name
}

// String returns a sentence.
func (w Summary) String() string {
	by := " by " + printable(w.Origin)
	if w.Others {
		by += " and others"
	}
	var parts []string
	if w.Blocks > 0 {
		text := fmt.Sprintf("%s%s would refuse %.0f %% of the last 5 minutes' requests here and %s confirmation",
			plural(w.Blocks, "block"), by, 100*w.Share, verb(w.Blocks, "await"))
		if w.Wide > 0 {
			text += fmt.Sprintf(", %d for their width", w.Wide)
		}
		if w.Some {
			text += fmt.Sprintf(", or room, while other nodes' blocks in force have used %.0f of the %.0f %% of confirm_share", 100*w.Used, 100*w.Limit)
		}
		parts = append(parts, text)
	}
	if w.Unseen > 0 {
		parts = append(parts, fmt.Sprintf("%s %s for confirmation, or until this node has seen a hundred requests to weigh %s by",
			plural(w.Unseen, "unsigned network"), verb(w.Unseen, "wait"), map[bool]string{true: "it", false: "them"}[w.Unseen == 1]))
	}
	for _, one := range []struct {
		n    int
		noun string
	}{{w.Allowances, "wide allowance"}, {w.Unblocks, "wide unblock"}} {
		if one.n > 0 {
			parts = append(parts, plural(one.n, one.noun)+by+" "+verb(one.n, "await")+" confirmation")
		}
	}
	if w.Paced > 0 {
		parts = append(parts, fmt.Sprintf("%s %s for room, since over %d blocks, %d unsigned unblocks and allowances, "+
			"or, before this node has seen a hundred requests, %d unsigned addresses came within a minute",
			plural(w.Paced, "record"), verb(w.Paced, "wait"), mostBlocks, mostOthers, mostKeys))
	}
	return strings.Join(parts, "; ") + ": edgeguard blocks held"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// verb returns the verb's form for so many.
func verb(n int, verb string) string {
	if n == 1 {
		return verb + "s"
	}
	return verb
}
