package admin

import "time"

// Site is how the site does, as far as its answers say it.
type Site struct {
	Parts []SiteFigures `json:"parts,omitempty"` // those with a success so far
	// FailedSeconds is how many seconds of the last hour the part failed that did so longest, at most 720.
	FailedSeconds int `json:"failed_seconds"`
	// Late answers came more than a minute late: they say nothing, and are always counted.
	Late uint64 `json:"late_answers"`
}

// SiteFigures are those of one part of the site, which fails or works for itself.
type SiteFigures struct {
	Name string `json:"name"` // one of own_hosts, or a source
	// Fails says that rules that go by the status count no failures there; Since is when that
	// began or ended last, and Why says why it is not so.
	Fails bool      `json:"fails"`
	Since time.Time `json:"since,omitzero"`
	Why   string    `json:"why,omitempty"`
	// Visitors is the mean number of addresses with a success a minute, over half an hour.
	// Of the last minute, Succeeding is how many there were, and Failing how many had
	// succeeded before and only fail.
	Visitors   float64 `json:"visitors"`
	Succeeding int     `json:"succeeding"`
	Failing    int     `json:"failing"`
}

// Fails returns how many parts fail.
func (s *Site) Fails() (n int) {
	if s == nil {
		return 0
	}
	for i := range s.Parts {
		if s.Parts[i].Fails {
			n++
		}
	}
	return n
}
