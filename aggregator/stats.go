package aggregator

// Stats is what a node keeps for its fleet, and what became of it since the
// node was made.
type Stats struct {
	// Suspects and Watched are there now; the watched are suspects, too.
	Suspects, Watched int
	// Floors are the forgotten prefixes that are still remembered.
	Cleared int
	// Quiet says that only keys with a share of the limit are told about: the
	// config asks for it and there are not too many nodes.
	Quiet bool
	// Pushed counts pushes that Collect, Offer, Whole and Watch handed out,
	// Offered those of Offer, Answered the answers to all.
	Pushed, Reconciled, Answered uint64
	// HeldBack counts events of keys for which there was no room among the
	// suspects, Displaced the suspects that made room for hotter ones.
	HeldBack, Displaced uint64
	// Wholes counts the answers that asked for a whole push, Refused those that
	// said that slots were refused, Told the keys that the fleet was told to
	// watch, Heard those that it was told about.
	FullRequested, Refused, WatchesSent, WatchesReceived uint64
}
