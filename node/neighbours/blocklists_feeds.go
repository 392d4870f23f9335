package neighbours

import (
	"edgeguard/admin"
	"edgeguard/feed"
)

// Feeds implements admin.ImportFeeder.
func (g *Subscriptions) Feeds() (all []admin.ImportFeed) {
	for _, one := range g.All() {
		all = append(all, one.shown())
	}
	return all
}

// shown returns what operators see of the list.
func (s *Subscription) shown() admin.ImportFeed {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	f := admin.ImportFeed{Name: s.config.Name, Kind: "blocklist", State: st.name(), Error: st.failed}
	if k := st.good; k != nil {
		f.Good = s.Epoch(st.at).UTC()
		f.Refused = refusals(&k.Counts)
	}
	if !st.next.IsZero() {
		f.Next = s.Epoch(st.next).UTC()
	}
	if w := st.waits; w != nil {
		f.Awaits = &admin.ImportPending{Why: "it " + w.why, Entries: w.list.List.Len(), Since: s.Epoch(w.since).UTC()}
	}
	return f
}

// refusals returns what was left out of a list when it was read.
func refusals(c *feed.Counts) admin.ImportRefusals {
	return admin.ImportRefusals{TooWide: c.Wide, Invalid: c.Special + c.Unreadable}
}

// name returns the word for the state. What an operator has to act on comes first.
func (s *state) name() string {
	switch {
	case s.waits != nil:
		return admin.ImportWaiting
	case s.stale:
		return admin.ImportStale
	case s.failures > 0:
		return admin.ImportFailing
	case s.good == nil:
		return admin.ImportStarting
	}
	return admin.ImportOK
}
