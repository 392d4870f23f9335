package scale

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/ring"
	"edgeguard/snapshot"
)

// The rules of the node. The window is longer than all that is measured, so that no
// key leaves it.
const (
	window    = time.Hour
	threshold = 2000
	rule      = "site"
	otherRule = "login"
	// most of the keys that are asked for are below the limit, and offenders above.
	maxCount = 1000
)

// conf is the node's config; dir is its folder.
func (o *Options) conf(dir string) string {
	return fmt.Sprintf(`
node: edge-1
state: %[1]s/state
memory: %[2]dMiB
max_blocks: %[3]d
listen: {auth: ["unix:%[1]s/auth.sock"], admin: ["unix:%[1]s/admin.sock"]}
rules:
  - {name: site, threshold: %[4]d, window: %[5]s}
  - {name: login, threshold: 20, match: {path: [/login]}}
`, dir, 256+o.Keys/10_000+o.Blocks/500, o.Blocks+100_000, threshold, window)
}

// address returns the n-th address that is counted.
func address(n int) netip.Addr {
	n += 16 << 24
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// blocked returns the n-th address that is blocked: every tenth is counted, too.
func blocked(n int) netip.Addr { return address(n * 10) }

// writeState writes the state of a node that has counted and blocked so many.
func (o *Options) writeState(path string, c *config.Config, now time.Time) error {
	w, err := snapshot.Create(path, snapshot.Cut{Node: "edge-1", Taken: now})
	if err != nil {
		return err
	}
	defer w.Close()
	random := rand.New(rand.NewPCG(1, 1))
	meter := c.Rules.Meters[c.Rules.Rules[0].Meter]
	w.Meter(snapshot.Meter{Fingerprint: meter.Fingerprint, Width: meter.Width})
	head := uint32(now.Unix() / int64(meter.Width))
	for n := range o.Keys {
		win := snapshot.Window{Prefix: netip.PrefixFrom(address(n), 32), Head: head}
		left := 1 + random.IntN(4)
		if n%10 == 0 { // one key in ten has many
			left = 5 + random.IntN(maxCount-5)
		}
		for left > 0 {
			cost := min(left, 1+random.IntN(50))
			win.Counts.Add(head-uint32(random.IntN(ring.Slots-10)), uint16(cost))
			left -= cost
		}
		w.Window(&win)
	}
	for n := range o.Blocks {
		w.Block(&snapshot.Block{Block: block(n, random, now)})
	}
	return w.Commit()
}

// block returns the n-th block: most of rules, one in ten by hand, one in five of
// other nodes.
func block(n int, random *rand.Rand, now time.Time) edgeguard.Block {
	b := edgeguard.Block{
		Prefix: netip.PrefixFrom(blocked(n), 32), Rule: rule, Reason: "over limit", Origin: "edge-1", Count: uint32(1901 + random.IntN(5000)), Limit: 1900,
		Since: now.Add(-time.Duration(random.Int64N(int64(window)))), Until: now.Add(window + time.Duration(random.Int64N(int64(window)))), Version: 1,
	}
	switch random.IntN(10) {
	case 0:
		b.Rule, b.Reason, b.Count, b.Limit = edgeguard.ManualRule, "scraper", 0, 0
	case 1, 2:
		b.Rule = otherRule
	case 3, 4:
		b.Origin = "edge-2"
	}
	return b
}
