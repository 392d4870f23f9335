package admin

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
)

// View is the running node as this package sees it; package node is the one that
// implements it. All methods are called from many goroutines at once, none is
// on the path of a request, and none but FleetCounts may wait for the network.
type View interface {
	// Now is the node's time, which blocks and slots are measured by.
	Now() time.Time

	// Blocks gives the blocks that are live at now and whose prefix is not less
	// than from (netip.Prefix.Compare), in that order; the zero prefix begins
	// at the first.
	Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block]

	// Find gives the live blocks of exactly this prefix or of one around it,
	// the narrowest first.
	Find(now time.Time, prefix netip.Prefix) []edgeguard.Block

	// Block puts a block in force, or replaces that of the same prefix. The node
	// sets Origin and Version and returns the block as it stands. force is an
	// operator's word that a wide or protected prefix is meant. The error wraps
	// one of package blocklist where the list refuses, or is a *TooMuchError
	// where a block that was not forced would refuse too much.
	Block(b edgeguard.Block, force bool) (edgeguard.Block, error)

	// Unblock takes back the block of exactly this prefix and clears the counts
	// of its addresses, so that it sticks. It returns what was lifted; false if
	// no such block stands or waits for a word.
	Unblock(prefix netip.Prefix, reason string) (edgeguard.Block, bool)

	// Held gives the blocks of the fleet that wait for an operator's word, in
	// the order of their prefixes.
	Held() []HeldBlock

	// Confirm puts a waiting block in force, in the whole fleet. ok is false if
	// none of exactly this prefix waits; the error wraps one of package
	// blocklist.
	Confirm(prefix netip.Prefix) (b edgeguard.Block, ok bool, err error)

	// Allowlist gives the prefixes that the config allows, in its order, and
	// Allowances those that were allowed at run time and are live at now, in the
	// order of their prefixes.
	Allowlist() []netip.Prefix
	Allowances(now time.Time) iter.Seq[edgeguard.Block]

	// Allow has nobody in the prefix blocked, on every node of the fleet, and
	// ends a block of the same prefix; it replaces an allowance of the same
	// prefix. The node sets Allow, Origin and Version and returns the allowance
	// as it stands. force and error are as of Block.
	Allow(b edgeguard.Block, force bool) (edgeguard.Block, error)

	// Disallow takes back the allowance of exactly this prefix that was made at
	// run time. It returns what was taken back; false if no such one stands.
	Disallow(prefix netip.Prefix, reason string) (edgeguard.Block, bool)

	// Explain says how an address stands with every rule. It leaves
	// Explanation.History and RuleCount.Does to this package.
	Explain(now time.Time, addr netip.Addr) Explanation

	// FleetCounts gives what the whole fleet counts of keys, in their order: nil
	// for one that the fleet does not add up, or where Redis cannot be asked. It
	// alone may wait for the network: for a moment in which the nodes tell what
	// they count, where settle, and a timeout at most.
	FleetCounts(ctx context.Context, keys []FleetKey, settle bool) []*FleetCount

	// Rules gives the rules in the order of the config.
	Rules() []Rule

	// Counts gives the distribution of what the rule's keys count at now, and
	// the n that count most; false if there is no such rule. It may look at
	// every key, so this package calls it once at a time.
	Counts(now time.Time, rule string, n int) (Counts, bool)

	// Top gives the n keys nearest to the limit of a rule, or furthest above
	// it, over all rules. It may look at every key, as Counts.
	Top(now time.Time, n int) []KeyCount

	// Stats gives the node's figures.
	Stats() Stats

	// FleetNodes gives the fleet's nodes as this one last heard of them, by
	// name; none for a node alone.
	FleetNodes() []FleetNode

	// Reload reads the config again. On an error the old one stays in force.
	Reload(ctx context.Context) error
}
