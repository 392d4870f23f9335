package enforce

import (
	"bufio"
	"iter"
	"strconv"
	"strings"
	"time"
)

// nftHead declares the table if it is not there, and empties it; nft runs a
// file as one transaction, so no packet sees it empty. Single addresses and
// prefixes have their own sets: a hash is quicker than an interval set, and
// the kernel refuses an interval inside another. The counters have names, because
// a rule's own counter goes with the rule when the chain is flushed; to declare one
// that is there leaves its count. Without the flush, each load would add the
// rules once more.
const nftHead = `table inet NAME {
	set blocked4 { type ipv4_addr; flags timeout; }
	set blocked6 { type ipv6_addr; flags timeout; }
	set nets4 { type ipv4_addr; flags interval, timeout; }
	set nets6 { type ipv6_addr; flags interval, timeout; }
	counter dropped4 { }
	counter dropped6 { }
	chain input { type filter hook input priority filter - 10; policy accept; }
}
flush chain inet NAME input
flush set inet NAME blocked4
flush set inet NAME blocked6
flush set inet NAME nets4
flush set inet NAME nets6
add rule inet NAME input ip saddr @blocked4 counter name dropped4 drop
add rule inet NAME input ip saddr @nets4 counter name dropped4 drop
add rule inet NAME input ip6 saddr @blocked6 counter name dropped6 drop
add rule inet NAME input ip6 saddr @nets6 counter name dropped6 drop
`

// nftLongest is the longest timeout that nft reads in seconds, about three
// years: it takes eight digits.
const nftLongest = 99_999_999

// nftChunk is how many elements one command adds, to keep the lines short
// enough to be looked at.
const nftChunk = 1000

// nftSet says which set an entry belongs to.
func nftSet(e Entry) string {
	single, v4 := e.Prefix.IsSingleIP(), e.Prefix.Addr().Is4()
	switch {
	case single && v4:
		return "blocked4"
	case single:
		return "blocked6"
	case v4:
		return "nets4"
	}
	return "nets6"
}

// writeNFT writes the script. Of prefixes that lie inside each other only the
// outermost is written; when its time has ended, the list is written again and
// those inside come to light.
func writeNFT(w *bufio.Writer, name string, now time.Time, entries []Entry) {
	w.WriteString(strings.ReplaceAll(nftHead, "NAME", name))
	for _, set := range []string{"blocked4", "nets4", "blocked6", "nets6"} {
		writeNFTSet(w, "add element inet "+name+" "+set+" {", now, inSet(entries, set))
	}
}

func inSet(entries []Entry, set string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for e := range outermost(entries) {
			if nftSet(e) == set && !yield(e) {
				return
			}
		}
	}
}

func writeNFTSet(w *bufio.Writer, command string, now time.Time, entries iter.Seq[Entry]) {
	n := 0
	for e := range entries {
		switch {
		case n%nftChunk != 0:
			w.WriteString(",\n ")
		case n > 0:
			w.WriteString(" }\n" + command + " ")
		default:
			w.WriteString(command + " ")
		}
		n++
		writePrefix(w, e.Prefix)
		w.WriteString(" timeout ")
		w.Write(strconv.AppendInt(w.AvailableBuffer(), min(secondsLeft(now, e.Until), nftLongest), 10))
		w.WriteByte('s')
	}
	if n > 0 {
		w.WriteString(" }\n")
	}
}
