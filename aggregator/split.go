package aggregator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// maxNamed is how many nodes the reason of a block names.
const maxNamed = 4

// overInFleet begins the reason of a block by the fleet's count.
const overInFleet = "over limit in the fleet"

// NodeCount is what one node has of a key: all its runs together.
type NodeCount struct {
	Node  string
	Count uint32
}

// SumByNode adds up the runs of each node, and sorts by count.
func SumByNode(parts []NodeCount) []NodeCount {
	var out []NodeCount
	for _, p := range parts {
		if i := slices.IndexFunc(out, func(q NodeCount) bool { return q.Node == p.Node }); i >= 0 {
			out[i].Count += p.Count // each at most 60 times 65,535
		} else {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, byCount)
	return out
}

func byCount(a, b NodeCount) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Node, b.Node))
}

// SplitReason returns the reason of a block by the fleet's count: it names the
// nodes that counted most, in the unit, and adds up the others.
func SplitReason(parts []NodeCount, u words.Measure) string {
	if len(parts) == 0 {
		return overInFleet
	}
	slices.SortFunc(parts, byCount)
	var b strings.Builder
	b.WriteString(overInFleet)
	rest := uint32(0) // each at most 60 times 65,535
	most := maxNamed
	if len(parts) > maxNamed {
		most = maxNamed - 1
	}
	for i, one := range parts {
		if i >= most {
			rest += one.Count
			continue
		}
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%s %s", cutName(one.Node), u.Amount(one.Count))
	}
	if rest > 0 {
		fmt.Fprintf(&b, ", %d more %s", len(parts)-most, u.Amount(rest))
	}
	return b.String()
}

// cutName keeps a reason under 255 bytes however long the names are.
func cutName(name string) string {
	return safetext.Cut(name, 40)
}
