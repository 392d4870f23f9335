package fleet

import (
	"net/netip"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard"
)

// manual returns a block such as an operator makes on a node, of a client that
// sends no traffic here.
func manual(k byte, n *node) edgeguard.Block {
	return manualOf(netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, k}), 32), n)
}

func manualOf(p netip.Prefix, n *node) edgeguard.Block {
	now := n.now()
	return edgeguard.Block{
		Prefix: p, Rule: "manual", Reason: "by hand", Origin: n.name,
		Since: now, Until: now.Add(2 * time.Hour), Version: n.list.Version(p) + 1,
	}
}

// addChange is a change in the stream as the library writes it.
func addChange(version int64, prefix, record string) *goredis.XAddArgs {
	return &goredis.XAddArgs{Stream: blocksKey("stream"), Values: []any{"v", version, "p", prefix, "r", record}}
}

// block makes a block by hand on a node.
func (f *fleet) block(n *node, b edgeguard.Block) {
	f.t.Helper()
	if _, err := n.merge(b, false); err != nil {
		f.t.Fatal(err)
	}
}
