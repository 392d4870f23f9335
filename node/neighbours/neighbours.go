// Package neighbours runs the services of a node that speak with systems beside it. Some
// enforce its blocks (CrowdSec's bouncers), some have lists that it takes in (blocklists, a
// CrowdSec, crawlers' ranges), some it notifies (webhooks, Alertmanagers). Proxies that ask
// are sensors, and the other nodes are the fleet.
package neighbours

import (
	"context"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
)

// Services is these services of one node: a group for each kind. It is safe for
// concurrent use as a supervisor.Group is.
type Services struct {
	Notify     Notifiers
	Blocklists Subscriptions
	Bouncers   *BouncerSide // of CrowdSec, which enforce the blocks
	CrowdSec   *CrowdSecClient
}

// Settle makes the services that run those of a config.
func (s *Services) Settle(ctx context.Context, c *config.Config) {
	s.Notify.Settle(ctx, c)
	s.Blocklists.Settle(ctx, c)
	s.Bouncers.Settle(ctx, c)
	s.CrowdSec.Settle(ctx, c)
}

// Stop ends all services and waits for them.
func (s *Services) Stop() {
	s.Blocklists.Stop()
	s.Bouncers.Stop()
	s.CrowdSec.Stop()
	s.Notify.Stop()
}

// Feeders returns the services that fetch lists of blocks.
func (s *Services) Feeders() []admin.ImportFeeder {
	return []admin.ImportFeeder{&s.Blocklists, s.CrowdSec}
}

// Report adds the figures of all.
func (s *Services) Report(to *admin.Stats) {
	s.Notify.Report(to)
	s.Blocklists.Report(to)
	s.Bouncers.Report(to)
	s.CrowdSec.Report(to)
}

// Enforced passes on a change of the node's own list that is in force. It does not wait.
func (s *Services) Enforced(b edgeguard.Block) {
	s.CrowdSec.Changed(b)
}
