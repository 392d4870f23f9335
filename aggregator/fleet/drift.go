package fleet

// Heartbeats tell whether a node's copy of the fleet's list still equals the list in Redis,
// and what to do where it does not.

// MostBlind is how many heartbeats in a row may lack a digest before the whole
// list is read: about a minute. Redis has none while ended records wait to be
// removed, and whoever writes to it may have millions of them wait.
const MostBlind = 30

// Drift compares the copy with the list. A single mismatch may be a change in
// flight and proves nothing. The zero value is ready. It is not safe for
// concurrent use.
type Drift struct {
	born          string // the namespace that was joined, or last seen
	fleetVersion  int64  // the fleet's list at the last heartbeat
	mirrorVersion int64  // the copy at the last heartbeat
	mismatches    int    // heartbeats in a row whose digest differed
	blind         int    // heartbeats in a row without a digest
	lastVersion   int64  // as fleetVersion, and not reset
	syncsAtMatch  uint64 // full reads when the digest last matched or the version last changed
}

// ListCopy is what a node has read of the fleet's list: its digest and version, and
// how many full reads there were.
type ListCopy struct {
	Digest  string
	Version int64
	Syncs   uint64
}

// DriftAction is what a node does after a comparison.
type DriftAction struct {
	Lost   bool // Redis may have lost something
	Read   bool // read the whole list
	Repair bool // replace Redis' digest by the copy's
}

// Joined begins with the namespace that the node has joined.
func (d *Drift) Joined(born string) { d.born = born }

// Compare compares the copy with the state that a heartbeat read. The whole list
// is to be read where they differ: the namespace is another one (an emptied
// Redis), the list went back (a fail-over that lost changes), the copy has not
// reached the list of the last heartbeat, or the digests differ twice in a row.
// If two full reads at one version did not help, Redis' digest is wrong.
func (d *Drift) Compare(s *State, c ListCopy) (a DriftAction) {
	differ := s.Digest != "" && c.Version == s.Changes && c.Digest != s.Digest
	a.Lost = d.mirrorVersion > s.Changes || d.born != s.Born // a Redis that lost blocks may have lost counts, too
	wrong := a.Lost || c.Version < d.fleetVersion
	d.born = s.Born
	if differ {
		d.mismatches++
	} else {
		d.mismatches = 0
	}
	if d.blind++; s.Digest != "" {
		d.blind = 0
	}
	if !differ || s.Changes != d.lastVersion {
		d.syncsAtMatch = c.Syncs
	}
	d.lastVersion, d.fleetVersion, d.mirrorVersion = s.Changes, s.Changes, c.Version
	if d.blind >= MostBlind {
		d.blind, wrong = 0, true
	}
	if wrong || d.mismatches >= 2 {
		d.mismatches, d.fleetVersion, d.mirrorVersion = 0, 0, 0
		a.Repair = !wrong && c.Syncs >= d.syncsAtMatch+2
		a.Read = !a.Repair
	}
	if a.Repair {
		d.syncsAtMatch = c.Syncs
	}
	return a
}
