package node

import (
	"net/netip"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
)

// peer is the node as its fleet link sees it.
type peer struct{ *Node }

var _ redis.Peer = peer{}

func (p peer) Counts() *aggregator.Totals               { return p.pipeline.Current().Member.Totals }
func (p peer) Width(meter uint64) uint32                { return p.pipeline.Current().Member.Width(meter) }
func (p peer) Now() time.Time                           { return p.clock.Now() }
func (p peer) Epoch(t time.Time) time.Time              { return p.clock.Epoch(t) }
func (p peer) Local(t time.Time) time.Time              { return p.clock.Local(t) }
func (p peer) Cleared(prefix netip.Prefix, _ time.Time) { p.pipeline.Clear(p.clock.Now(), prefix) }
func (p peer) Alarm(kind, about, text string) {
	p.alarms.begins(p.clock.Now(), fleetAlarm(kind), about, text)
}
