package neighbours

import (
	"fmt"

	"edgeguard/admin"
)

// Feeds returns what operators see of the decisions, as of the other imported blocks.
func (s *CrowdSecClient) Feeds() (all []admin.ImportFeed) {
	for _, one := range s.decisions.All() {
		all = append(all, one.shown())
	}
	return all
}

// Confirm implements admin.ImportFeeder: decisions never wait for an operator.
func (s *CrowdSecClient) Confirm(name string) error {
	return fmt.Errorf("the decisions of %q are in force as CrowdSec sends them: nothing awaits confirmation", name)
}

func (s *decisions) shown() admin.ImportFeed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := admin.ImportFeed{Name: crowdSecSource, Kind: "crowdsec", State: admin.ImportStarting, Error: s.figures.Error, Good: s.figures.Last.UTC()}
	f.Refused.Invalid = int(s.figures.Skipped.Invalid)
	f.Refused.NoRoom = int(s.figures.Skipped.NoRoom)
	switch {
	case f.Error != "":
		f.State = admin.ImportFailing
	case f.Good.IsZero():
	default:
		f.State = admin.ImportOK
	}
	return f
}
