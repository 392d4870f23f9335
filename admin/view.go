package admin

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/attack"
	"edgeguard/blocklist"
	"edgeguard/internal/words"
)

// Reader is the running node as this package shows it. No method changes the
// node. All are called from many goroutines together, none is on the path of a
// request, and only FleetCounts and FleetHeld may wait for the network. Package
// node/status implements it.
type Reader interface {
	// Now is the node's time, which blocks and slots are measured by.
	Now() time.Time

	// Blocks returns the blocks that are live at now and whose prefix is not less
	// than from (netip.Prefix.Compare), in that order; the zero prefix begins
	// at the first.
	Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block]

	// CountOf returns how many blocks have something in common; false if that takes a
	// look at the blocks.
	CountOf(having func(blocklist.Common) bool) (n int, ok bool)

	// Newest returns the chosen blocks that are live at now, the newest first, from
	// behind a place on.
	Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block]

	// Active returns blocks with what this node refused because of them, in their
	// order. Blocklist returns how many there are.
	Active(blocks []edgeguard.Block) []ActiveBlock
	Blocklist() blocklist.Stats

	// Refusals returns how many events this node refused because of the block of exactly this
	// prefix, and when it refused the last one, if any. It takes no lock.
	Refusals(prefix netip.Prefix) (events uint32, last time.Time)

	// Find returns the live blocks of exactly this prefix or of one around it,
	// the narrowest first.
	Find(now time.Time, prefix netip.Prefix) []edgeguard.Block

	// Unit returns what the figures are of that a node of the fleet has of a rule; the zero
	// one if this node does not know that.
	Unit(rule, origin string) words.Measure

	// Exact returns the live block of exactly this prefix; false if there is none. It
	// takes no lock.
	Exact(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool)

	// ExactAllowance is Exact for an allowance made at run time.
	ExactAllowance(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool)

	// Held returns the blocks of the fleet that await confirmation, in the order
	// of their prefixes.
	Held() []HeldBlock

	// Allowlist returns the prefixes that the config allows, in its order.
	// Allowances returns those that were allowed at run time and are live at
	// now, in the order of their prefixes.
	Allowlist() []netip.Prefix
	Allowances(now time.Time) iter.Seq[edgeguard.Block]

	// Crowd returns who came to a key without an address, with its attributes as shown, if that is kept and
	// had not ended when a crossing of it was told; false if not.
	Crowd(rule, with string, told time.Time) (attack.Crowd, bool)

	// Explain returns what every rule counts of an address. It leaves
	// Explanation.History and RuleCount.Does to this package.
	Explain(now time.Time, addr netip.Addr) Explanation

	// MayBeCustomer reports whether pages of the site were served to an address, or to an IPv6 /64, as to a customer.
	MayBeCustomer(prefix netip.Prefix) bool

	// ExplainKey returns what a rule counts of a key without an address, with its attributes as shown; false if the rule
	// has no such keys. It leaves RuleCount.Does to this package.
	ExplainKey(now time.Time, rule, with string) (RuleCount, bool)

	// Glance returns an address's standing and what rules count of it, for many
	// addresses: without rules where that takes a search of many keys.
	Glance(now time.Time, addr netip.Addr) (standing string, counts []RuleCount)

	// Evidence returns what a key had counted when this node last blocked exactly
	// this prefix; false if that is not kept.
	Evidence(prefix netip.Prefix) (edgeguard.Evidence, bool)

	// Figures returns what a prefix counts now, and its block.
	Figures(now time.Time, k watch.Key) watch.Figures

	// Samples returns some of the requests of the key or block of exactly this prefix,
	// in no order, and who may see them.
	Samples(prefix netip.Prefix) KeptSamples

	// FleetCounts returns what the whole fleet counts of keys, in their order:
	// nil for a key that the fleet does not add up, or where Redis cannot be
	// asked. It may wait for the network: where settle is set, for a
	// moment in which the nodes push what they count, and a timeout at most.
	FleetCounts(ctx context.Context, keys []FleetKey, settle bool) []*FleetCount

	// Rules returns the rules in the order of the config, Unused the overlays of
	// rules that are not in force.
	Rules() []Rule
	Unused() []Unused

	// Counts returns what the rule's keys count at now, with n at least of those
	// that count most; false if there is no such rule. It may look at every key,
	// so this package calls it once at a time, for all who ask.
	Counts(now time.Time, rule string, n int) (Counts, bool)

	// Past returns what the rule's keys counted in windows that ended at most this
	// long before now; false if there is no such rule. It looks at no key.
	Past(now time.Time, rule string, length time.Duration) (Windows, bool)

	// Top returns the n keys nearest to the limit of a rule, or furthest above
	// it, over all rules, without what is blocked. It may look at every key, as Counts.
	Top(now time.Time, n int) []KeyCount

	// Inside returns what the node counts in a prefix. It may look at every key, as
	// Counts.
	Inside(now time.Time, prefix netip.Prefix) Inside

	// Rates returns what the node did lately, step by step.
	Rates() []watch.Series

	// Day returns what the node did in each minute of the last day that it ran.
	Day() []watch.DayMinute

	// Stats returns the node's figures.
	Stats() Stats

	// FleetNodes returns the fleet's nodes as this one last received them, by
	// name; none for a node alone. The call has the other nodes report their figures
	// for the next half minute, also what they did in spans.
	FleetNodes(asked ...watch.Span) []FleetNode

	// FleetHeld asks the fleet's other nodes which records they hold. It waits for
	// their next heartbeats, for some seconds at most. The error says why they
	// cannot be asked.
	FleetHeld(ctx context.Context) (FleetHeld, error)

	ImportReader
}

// Operator is what an operator changes by hand. All methods are called from
// many goroutines together. Package node implements it.
type Operator interface {
	// Block puts a block in force, or replaces that of the same prefix. The node
	// sets Origin and Version and returns the block that is in force. force
	// confirms that a wide or protected prefix is meant. The error wraps one of
	// package blocklist where the list refuses, or is a
	// *TooMuchError where a block that was not forced would refuse too much.
	Block(b edgeguard.Block, force bool) (edgeguard.Block, error)

	// Weigh returns the part of the last five minutes' requests that a block would
	// newly refuse, and the error by which Block would refuse it without force. It
	// changes nothing.
	Weigh(b edgeguard.Block) (share float64, err error)

	// Unblock takes back the block of exactly this prefix and clears the counts
	// of its addresses, so that it sticks. It returns what was lifted; false if
	// no such block is in force or awaits confirmation.
	Unblock(prefix netip.Prefix, reason string) (edgeguard.Block, bool)

	// UnblockOwned takes back the block of exactly this prefix, if the owner made it on
	// this node, and clears no counts. It returns what was lifted; false if no such
	// block is in force.
	UnblockOwned(prefix netip.Prefix, owner, reason string) (edgeguard.Block, bool)

	// Confirm puts a held block in force, in the whole fleet. ok is false if none
	// of exactly this prefix is held; the error wraps one of package blocklist.
	Confirm(prefix netip.Prefix) (b edgeguard.Block, ok bool, err error)

	// Allow exempts the prefix from blocks, on every node of the fleet, and ends
	// a block of the same prefix; it replaces an allowance of the same prefix.
	// The node sets Allow, Origin and Version and returns the allowance that is
	// in force. force and error are as of Block.
	Allow(b edgeguard.Block, force bool) (edgeguard.Block, error)

	// Disallow takes back the allowance of exactly this prefix that was made at
	// run time. It returns what was taken back; false if there is none.
	Disallow(prefix netip.Prefix, reason string) (edgeguard.Block, bool)

	// Sign has this node vouch by the fleet's key for all records on its list, and
	// publishes their signatures by the key that signs now. It returns how many
	// records there are, and how many of them it did not vouch for before. Unless
	// really is set, it only counts. The error says why it cannot.
	Sign(really bool) (records, unsigned int, err error)

	// Reload reads the config again. On an error the previous one stays in force.
	Reload(ctx context.Context) error

	Tuner
	BulkImporter
	BulkLifter
	KernelOperator
	ImportOperator
	BouncerOperator
	ClientOperator
}
