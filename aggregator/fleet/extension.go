package fleet

import (
	"hash/fnv"
	"time"

	"edgeguard"
)

// ExtensionSlack returns by how much later the block of a while_over rule may end on a
// node than in the fleet's list before the node publishes that.
//
// Each node extends such a block by what it counts itself, up to once a slot: of fifty,
// each would have its end read by all others every five seconds. So the node that made
// the block publishes an end once it is a quarter of the window later. The others leave
// it to that node, and publish only what is further ahead, since the client went on with
// them: each at a point of its own between half and three quarters of the window, of
// which the first that publishes spares the rest. Elsewhere a block so ends up to that
// much before the one that extends it.
func ExtensionSlack(b *edgeguard.Block, node string, window time.Duration) time.Duration {
	if b.Origin == node {
		return window / 4
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(node)) // a hash fails never
	prefix, _ := b.Prefix.MarshalBinary()
	_, _ = sum.Write(prefix)
	return window/2 + window/4*time.Duration(sum.Sum32()>>16)>>16
}
