package enforce

import "time"

// Stats is an enforcer's state.
type Stats struct {
	// Intended is how many entries the last whole list had, with the changes that an
	// Incremental enforcer was sent since; Withheld how many blocks were left out of
	// the list, because they were learned from behind a proxy and the enforcer works
	// in the kernel.
	Intended, Withheld int
	// Installed is Intended after the last update that worked. It differs while an
	// enforcer fails.
	Installed int
	// Pending is how many changes wait for an Incremental enforcer. Behind
	// says that anything waits: a change, a whole list, a failure to fix.
	Pending int
	Behind  bool
	// Updates and Failures count calls of the enforcer by their end; Failing
	// how many failed since the last that did not.
	Updates, Failures uint64
	Failing           int
	// LastError is the last failure, also when it has passed.
	LastError                error
	LastSuccess, LastFailure time.Time
}
