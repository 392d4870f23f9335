package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis/library"
)

// reportOver reads the split of each key that is over the limit, and passes the
// key to the node. Without the split the key is still passed on.
func (p *Pusher) reportOver(ctx context.Context, keys []overLimit) {
	keys = slices.DeleteFunc(keys, func(o overLimit) bool { return p.node.Settled(o.key, o.peak) })
	if len(keys) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	pipe := p.client.Pipeline()
	cmds := make([]*goredis.Cmd, len(keys))
	for i, o := range keys {
		cmds[i] = pipe.FCallRO(bounded, library.Function("split"), []string{p.names.suspect(o.key)}, o.head)
	}
	_, err := pipe.Exec(bounded)
	if p.refreshNames != nil && slices.ContainsFunc(cmds, p.hasUnknownNode) {
		p.refreshNames(ctx)
	}
	counts := p.node.Counts()
	for i, o := range keys {
		if counts.Forgotten(o.key, o.head) {
			continue // an unblock came while the split was read
		}
		p.node.Over(o.key, o.peak, p.reason(cmds[i]))
	}
	if err != nil {
		p.stats.failed("split")
		p.stats.note(fmt.Errorf("split over the nodes: %w", err))
	}
}

// hasUnknownNode reports whether a split names a node that is not known: one
// that joined since the last heartbeat.
func (p *Pusher) hasUnknownNode(cmd *goredis.Cmd) bool {
	answer, _ := cmd.Slice()
	for ; len(answer) >= 2; answer = answer[2:] {
		if id, _ := answer[0].(string); len(id) == 8 && p.nodes.Name([8]byte([]byte(id))) == "" {
			return true
		}
	}
	return false
}

// reason returns a block's reason: which node counted how much.
func (p *Pusher) reason(cmd *goredis.Cmd) string {
	answer, err := cmd.Slice()
	if err != nil {
		return aggregator.SplitReason(nil)
	}
	return aggregator.SplitReason(p.nodeCounts(answer))
}

func (p *Pusher) nodeCounts(answer []any) []aggregator.NodeCount {
	var parts []aggregator.NodeCount
	for ; len(answer) >= 2; answer = answer[2:] {
		id, isText := answer[0].(string)
		count, isNumber := answer[1].(int64)
		if !isText || !isNumber || len(id) != 8 || count <= 0 {
			continue
		}
		parts = append(parts, aggregator.NodeCount{Node: cmp.Or(p.nodes.Name([8]byte([]byte(id))), fmt.Sprintf("unknown node (%x)", id[:3])), Count: uint32(count)})
	}
	return aggregator.SumByNode(parts)
}
