package admin

import (
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// The blocks that a node imports from other people's lists, as operators
// see them by the API, and what they confirm of them.

// The states of a feed.
const (
	ImportStarting = "starting" // nothing was fetched yet
	ImportOK       = "ok"
	ImportFailing  = "failing" // the last fetch failed; what it brought before is in force
	ImportWaiting  = "waiting" // its newest list awaits confirmation
	ImportStale    = "stale"   // it brought nothing for so long that its blocks have ended
)

// ImportFeed is one source of imported blocks. Its times are wall-clock times.
type ImportFeed struct {
	Name string `json:"name"`
	// Kind is "blocklist" or "crowdsec", and State one of the states; both are empty
	// where no service of this config has the source.
	Kind  string `json:"kind,omitempty"`
	State string `json:"state,omitempty"`
	// InForce entries are in force. Those of Refused are not.
	InForce int            `json:"held"`
	Refused ImportRefusals `json:"refused"`
	Changed time.Time      `json:"changed,omitzero"`   // when entries were last merged
	Good    time.Time      `json:"last_good,omitzero"` // the last fetch that succeeded
	Next    time.Time      `json:"next,omitzero"`      // the next fetch
	Error   string         `json:"error,omitempty"`    // of the last fetch
	// Awaits is nil where nothing awaits confirmation.
	Awaits *ImportPending `json:"awaits,omitempty"`
}

// ImportRefusals counts the entries of a feed that are not in force, by why.
type ImportRefusals struct {
	Protected int `json:"protected"` // kept, and in force when it is not protected any more
	Allowed   int `json:"allowed"`   // kept likewise
	TooWide   int `json:"too_wide"`
	Invalid   int `json:"invalid"` // of a special-purpose range, or not to be read
	Ended     int `json:"ended"`
	NoRoom    int `json:"no_room"` // max_imported is reached
}

// Each calls f with each of the counts and its word in metrics.
func (r *ImportRefusals) Each(f func(reason string, n int)) {
	f("protected", r.Protected)
	f("allowed", r.Allowed)
	f("too_wide", r.TooWide)
	f("invalid", r.Invalid)
	f("ended", r.Ended)
	f("no_room", r.NoRoom)
}

// ImportPending is a list that awaits confirmation.
type ImportPending struct {
	Why     string    `json:"why"` // in words, such as "it is empty"
	Entries int       `json:"entries"`
	Since   time.Time `json:"since,omitzero"`
}

// Imports is the imported blocks of a node.
type Imports struct {
	Blocks int          `json:"blocks"` // a prefix of two feeds is one
	Most   int          `json:"max_imported"`
	Feeds  []ImportFeed `json:"feeds"` // one for each list of others
}

// ImportFeeder is a service that fetches lists. It fills in what it knows of a feed, and leaves
// out what the set of imported blocks knows: Held, Changed, and what that refused. Its
// Refused is what it did not pass to the set: TooWide and Invalid.
type ImportFeeder interface {
	Feeds() []ImportFeed
	// Confirm puts the list that awaits it under a name in force. The error says why that
	// cannot be.
	Confirm(name string) error
}

// ImportReader is what a node shows of its imported blocks.
type ImportReader interface {
	Imports() Imports
	// ImportedAround returns the imported blocks of exactly this prefix or around it that
	// are live at now, the narrowest first.
	ImportedAround(now time.Time, prefix netip.Prefix) []edgeguard.Block
	// ImportedBy returns the imported blocks whose Rule is this one, and others, from a
	// prefix on and in order; false if the rule is not a feed's.
	ImportedBy(now time.Time, rule string, from netip.Prefix) (iter.Seq[edgeguard.Block], bool)
}

// ImportOperator is what operators change of it.
type ImportOperator interface {
	ConfirmImport(name string) *call.Problem
}

// notLifted says why an imported block of a prefix, or around it, cannot be removed, extended
// or replaced by its prefix: the next fetch would bring it back.
func notLifted(b *edgeguard.Block, prefix netip.Prefix) *call.Problem {
	what := fmt.Sprintf("%s is blocked by the imported list %s", prefix, edgeguard.Owner(b.Rule))
	if b.Prefix != prefix {
		what = fmt.Sprintf("%s is inside %s, which the imported list %s blocks", prefix, b.Prefix, edgeguard.Owner(b.Rule))
	}
	return call.NewProblem(http.StatusConflict, "prefix", what+", and cannot be removed here",
		"allow it (edgeguard allow add "+prefix.String()+"), or have the entry removed from the list")
}

// ConfirmImport puts in force what awaits confirmation under a name.
func (c *Changes) ConfirmImport(by access.Caller, name string) *call.Problem {
	return c.Audited(by, "confirm import", call.Clip(name), func(*string) *call.Problem {
		if !slices.ContainsFunc(c.view.reader.Imports().Feeds, func(f ImportFeed) bool { return f.Name == name }) {
			return call.NewProblem(http.StatusNotFound, "name", fmt.Sprintf("%q is not a feed of imported blocks", call.Clip(name)), "`edgeguard blocklists` lists them")
		}
		return c.operator.ConfirmImport(name)
	})
}
