package aggregator

// Outcome is what follows from an answer. Several may hold at once.
type Outcome struct {
	// Again: push the key whole at once ([Totals.Whole]). It is not said twice
	// running: where a whole push was not stored whole, the next Collect tries
	// again.
	Again bool
	// Watch: tell the fleet to watch the key.
	Watch bool
	// Over: the peak is over the least limit of the meter's rules.
	Over bool
	// Forget, if not 0, is a floor that Redis has not heard of: the slots below
	// it were forgotten here by an unblock, and what Redis says of the key
	// counts them still. Forget the key there, and push it whole.
	Forget uint32
}
