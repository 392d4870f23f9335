package doctor

import (
	"context"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/client"
)

// bouncersOfNode asks the node which bouncers of CrowdSec enforce its blocks, and what
// they cannot.
func (x *examination) bouncersOfNode(ctx context.Context, node *client.Client) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	s, err := node.Bouncers(ctx)
	if err != nil || len(s.Listening) == 0 {
		return // an older node, one without them, or this user may not ask
	}
	x.bouncers(&s)
}

func (x *examination) bouncers(s *admin.BouncerList) {
	const about = "bouncers"
	if len(s.Bouncers) == 0 {
		x.note(doubt, about, "there is no key, so no bouncer can ask: edgeguard bouncers add NAME")
	}
	for _, b := range s.Bouncers {
		switch {
		case b.LastPull.IsZero():
			x.note(doubt, about, "%s has not asked since the node's start", b.Name)
		case b.Silent:
			x.note(wrong, about, "%s has not asked for long: it enforces no new blocks; look at its log", b.Name)
		case s.Ranges > 0 && strings.Contains(strings.ToLower(b.UserAgent), "firewall-bouncer"):
			x.note(doubt, about, "%s is a firewall bouncer, and %d of %d blocks are prefixes, as IPv6 blocks are: in mode nftables it cuts off their masks and blocks one address of each; set mode: iptables in its file",
				b.Name, s.Ranges, s.Decisions)
		default:
			x.note(fine, about, "%s asks, and is %d changes behind", b.Name, b.Behind)
		}
	}
}
