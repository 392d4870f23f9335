package aggregator

// Stats is what a node keeps of its fleet, and what it has counted since New.
type Stats struct {
	// Suspects and Watched are current; watched keys are suspects, too.
	Suspects, Watched int
	// Cleared is how many unblocked prefixes are still remembered.
	Cleared int
	// Quiet says that only keys with a share of the limit are reported. Nodes is
	// the greatest number of nodes in the longest window, which takes the place
	// of MaxNodes where it is above it.
	Quiet           bool
	Nodes, MaxNodes int
	// Pushed counts the pushes returned by Collect, Reconcile, FullPush and
	// Watch, Reconciled those of Reconcile, Answered the answers to all.
	Pushed, Reconciled, Answered uint64
	// HeldBack counts events of keys that found no room among the suspects,
	// Displaced the suspects evicted for a key of higher rank.
	HeldBack, Displaced uint64
	// FullRequested counts the answers that asked for a full push, Refused
	// those with refused slots. WatchesSent counts the keys that this node
	// asked the fleet to watch, WatchesReceived those that it was asked to.
	FullRequested, Refused, WatchesSent, WatchesReceived uint64
}
