package node

import (
	"context"
	"errors"
	"net/netip"
	"sync"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator/quarantine"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/node/lists"
	"edgeguard/node/neighbours"
	"edgeguard/node/overlay"
	"edgeguard/node/pipeline"
	"edgeguard/node/status"
)

// operator is what an operator changes by hand: an admin.Operator. As in the
// admin API, its times are wall-clock times.
type operator struct {
	*overlay.Control
	*lists.KernelFilter
	*neighbours.ImportedLists
	*neighbours.BouncerService
	*clientNames
	pipeline   *pipeline.Pipeline
	list       *blocklist.List
	quarantine *quarantine.Quarantine
	clock      *clockguard.Clock
	status     *status.Status
	reload     func() error
	room       func()   // waits until what happens is written as fast as an operator makes it happen
	publish    func()   // all records again, by the key that signs now
	listing    sync.Map // prefixes that a change of many is about to make or lift: its one record lists them
}

// Block implements admin.Operator.
func (o *operator) Block(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	if !force {
		share, limit, yes := o.quarantine.TooMuch(o.clock.Now(), o.pipeline.Current().Detector, b.Prefix)
		if yes {
			return b, &admin.TooMuchError{Prefix: b.Prefix, Share: share, Limit: limit}
		}
	}
	return o.block(b, force)
}

// block puts a block in force that was weighed or forced.
func (o *operator) block(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	if edgeguard.Owner(b.Rule) != "" {
		return o.blockOwned(b)
	}
	b.Allow, b.Version = false, o.quarantine.Version(b.Prefix)+1
	return o.add(b, force)
}

// Import implements [admin.BulkImporter].
func (o *operator) Import(b edgeguard.Block, spent float64, try bool) (edgeguard.Block, float64, error) {
	var share, limit float64
	if !b.Allow {
		share, limit = o.quarantine.RefusedShare(o.clock.Now(), o.pipeline.Current().Detector, b.Prefix)
	}
	if limit < 1 && share > 0 && spent+share > limit {
		return b, 0, &admin.TooMuchError{Prefix: b.Prefix, Share: spent + share, Limit: limit, Together: spent > 0}
	}
	var err error
	if try {
		local := b
		local.Since, local.Until = o.clock.Local(b.Since), o.clock.Local(b.Until)
		err = o.list.Check(local, o.clock.Now())
	} else {
		o.room()
		o.listing.Store(b.Prefix, nil)
		if b.Allow {
			b, err = o.Allow(b, false)
		} else {
			b, err = o.block(b, false)
		}
		o.listing.Delete(b.Prefix)
	}
	if err != nil {
		share = 0
	}
	return b, share, err
}

// imports reports whether a block that was made or lifted is one of many that an operator's
// change makes at this moment, whose one record lists it.
func (o *operator) imports(b *edgeguard.Block) bool {
	_, listed := o.listing.Load(b.Prefix)
	return listed && b.Origin == o.pipeline.Current().Config.Node
}

// blockOwned puts another program's block in force, or returns the one that stays.
func (o *operator) blockOwned(b edgeguard.Block) (edgeguard.Block, error) {
	b.Since, b.Until = o.clock.Local(b.Since), o.clock.Local(b.Until)
	b.Origin, b.Allow = o.pipeline.Current().Config.Node, false
	b, _, err := o.list.AddOwned(b, o.clock.Now())
	return o.status.Outward(b), err
}

// UnblockOwned implements admin.Operator.
func (o *operator) UnblockOwned(prefix netip.Prefix, owner, reason string) (edgeguard.Block, bool) {
	lifted, ok := o.list.LiftOwned(prefix, owner, o.clock.Now(), reason, o.pipeline.Current().Config.Node)
	return o.status.Outward(lifted), ok
}

// Weigh implements admin.Operator.
func (o *operator) Weigh(b edgeguard.Block) (share float64, err error) {
	share, limit, yes := o.quarantine.TooMuch(o.clock.Now(), o.pipeline.Current().Detector, b.Prefix)
	b.Since, b.Until = o.clock.Local(b.Since), o.clock.Local(b.Until)
	if err = o.list.Check(b, o.clock.Now()); err == nil && yes && !b.Allow {
		err = &admin.TooMuchError{Prefix: b.Prefix, Share: share, Limit: limit}
	}
	return share, err
}

// Allow implements admin.Operator.
func (o *operator) Allow(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b.Allow = true
	return o.add(b, force)
}

// add puts a block or an allowance on the list.
func (o *operator) add(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b.Since, b.Until = o.clock.Local(b.Since), o.clock.Local(b.Until)
	b.Origin = o.pipeline.Current().Config.Node
	b, _, err := o.list.Add(b, force, o.clock.Now())
	return o.status.Outward(b), err
}

// Unblock implements admin.Operator.
func (o *operator) Unblock(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	now, g := o.clock.Now(), o.pipeline.Current()
	reason = byHand(reason)
	lifted, ok := o.list.Lift(prefix, now, reason, g.Config.Node)
	if !ok {
		lifted, ok = o.quarantine.Withdraw(now, prefix, reason, g.Config.Node)
	}
	if ok {
		o.pipeline.Clear(now, prefix)
	}
	return o.status.Outward(lifted), ok
}

// byHand returns an operator's reason. The guard of a failing site has a word of its own, by which
// nodes forget less.
func byHand(reason string) string {
	if reason == edgeguard.SiteFailed {
		reason += " (by hand)"
	}
	return reason
}

// Disallow implements admin.Operator.
func (o *operator) Disallow(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	lifted, ok := o.list.Disallow(prefix, o.clock.Now(), reason, o.pipeline.Current().Config.Node)
	return o.status.Outward(lifted), ok
}

// Confirm implements admin.Operator.
func (o *operator) Confirm(prefix netip.Prefix) (b edgeguard.Block, ok bool, err error) {
	now := o.clock.Now()
	b, ok, err = o.quarantine.Confirm(now, prefix)
	if ok && err == nil && b.Forgets() {
		o.pipeline.Forget(now, b)
	}
	return o.status.Outward(b), ok, err
}

// Sign implements admin.Operator. A record that the list has already is given to
// it again, with the trust that it then has more.
func (o *operator) Sign(really bool) (records, unsigned int, err error) {
	if f := o.pipeline.Current().Config.Fleet; f == nil || f.KeyFile == "" {
		return 0, 0, errors.New("this node has no fleet key")
	}
	now := o.clock.Now()
	for b, trust := range o.list.Records() {
		records++
		if trust.Signed {
			continue
		}
		unsigned++
		if trust.Signed = true; really {
			_, _ = o.list.Agree(b, trust, now) // the list has it
		}
	}
	if really {
		o.publish()
	}
	return records, unsigned, nil
}

// Reload implements admin.Operator.
func (o *operator) Reload(context.Context) error { return o.reload() }
