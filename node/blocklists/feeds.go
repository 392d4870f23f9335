package blocklists

import (
	"edgeguard/admin/imports"
	"edgeguard/feed"
)

// Feeds implements imports.Feeder.
func (g *Subscriptions) Feeds() (all []imports.Feed) {
	for _, one := range g.All() {
		all = append(all, one.shown())
	}
	return all
}

// shown returns what operators see of the list.
func (s *Subscription) shown() imports.Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.state
	f := imports.Feed{Name: s.config.Name, Kind: "blocklist", State: st.name(), Error: st.failed}
	if k := st.good; k != nil {
		f.Good = s.Epoch(st.at).UTC()
		f.Refused = refusals(&k.Counts)
	}
	if !st.next.IsZero() {
		f.Next = s.Epoch(st.next).UTC()
	}
	if w := st.waits; w != nil {
		f.Awaits = &imports.Pending{Why: "it " + w.why, Entries: w.list.List.Len(), Since: s.Epoch(w.since).UTC()}
	}
	return f
}

// refusals returns what was left out of a list when it was read.
func refusals(c *feed.Counts) imports.Refusals {
	return imports.Refusals{TooWide: c.Wide, Invalid: c.Special + c.Unreadable}
}

// name returns the word for the state. What an operator has to act on comes first.
func (s *state) name() string {
	switch {
	case s.waits != nil:
		return imports.Waiting
	case s.stale:
		return imports.Stale
	case s.failures > 0:
		return imports.Failing
	case s.good == nil:
		return imports.Starting
	}
	return imports.OK
}
