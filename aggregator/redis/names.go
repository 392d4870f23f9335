package redis

import (
	"strconv"

	"edgeguard/aggregator"
)

// names are the keys of one namespace. Each partition's keys share a hash tag,
// and so do the blocks', nodes' and watch list's: a Cluster keeps each of these
// groups on one master.
type names struct {
	clocks, counts []string // by partition

	blocks, ends, stream, watch, state, nodes, macs, seen, moved, figures, rules, thresholds, leases string
}

func newNames(namespace string, partitions int) names {
	var n names
	for p := range partitions {
		tag := "eg:{" + namespace + "/" + strconv.Itoa(p) + "}:"
		n.clocks = append(n.clocks, tag+"c")
		n.counts = append(n.counts, tag+"k:")
	}
	tag := "eg:{" + namespace + "/b}:"
	n.blocks, n.ends, n.stream = tag+"blocks", tag+"ends", tag+"stream"
	n.watch, n.state, n.macs = tag+"watch", tag+"state", tag+"macs"
	n.nodes, n.seen, n.moved, n.figures = tag+"nodes", tag+"seen", tag+"moved", tag+"figures"
	n.rules, n.thresholds, n.leases = tag+"rules", tag+"thresholds", tag+"lease:"
	return n
}

// memberKeys returns the keys of the beat function, in its order.
func (n *names) memberKeys() []string {
	return []string{n.nodes, n.state, n.ends, n.blocks, n.seen, n.moved, n.macs}
}

// suspect returns the key of a suspect.
func (n *names) suspect(k aggregator.Key) string {
	return n.counts[k.Partition(len(n.counts))] + string(k.Append(nil))
}

// publishKeys returns the keys of the publish and replace functions, in their
// order.
func (n *names) publishKeys() []string { return []string{n.blocks, n.ends, n.stream, n.state, n.macs} }
