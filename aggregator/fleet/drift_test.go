package fleet

import (
	"testing"
)

const good, bad = "0000000000000001", "0000000000000002"

// TestCompare: rows of one node's heartbeats, each with what follows from it.
func TestCompare(t *testing.T) {
	type beat struct {
		state State
		copy  ListCopy
		want  DriftAction
	}
	read, lost, repair := DriftAction{Read: true}, DriftAction{Lost: true, Read: true}, DriftAction{Repair: true}
	at := func(version int64, digest string) State {
		return State{Changes: version, Digest: digest, Born: "1.2"}
	}
	mine := func(version int64, syncs uint64) ListCopy { return ListCopy{good, version, syncs} }
	for what, beats := range map[string][]beat{
		"equal": {{at(5, good), mine(5, 1), DriftAction{}}, {at(6, good), mine(6, 1), DriftAction{}}},
		"a change in flight": {{at(5, good), mine(5, 1), DriftAction{}}, {at(6, bad), mine(5, 1), DriftAction{}},
			{at(6, good), mine(6, 1), DriftAction{}}},
		"one mismatch": {{at(5, bad), mine(5, 1), DriftAction{}}, {at(5, good), mine(5, 1), DriftAction{}}, {at(5, bad), mine(5, 1), DriftAction{}}},
		"two mismatches, and reads do not help": {
			{at(5, bad), mine(5, 1), DriftAction{}}, {at(5, bad), mine(5, 1), read},
			{at(5, bad), mine(5, 2), DriftAction{}}, {at(5, bad), mine(5, 2), read},
			{at(5, bad), mine(5, 3), DriftAction{}}, {at(5, bad), mine(5, 3), repair},
			{at(5, bad), mine(5, 3), DriftAction{}}, {at(5, bad), mine(5, 3), read},
		},
		"another namespace":        {{State{Changes: 5, Digest: good, Born: "9.9"}, mine(5, 1), lost}},
		"the list went back":       {{at(5, good), mine(5, 1), DriftAction{}}, {at(4, good), mine(5, 1), lost}},
		"the copy does not follow": {{at(6, good), mine(5, 1), DriftAction{}}, {at(6, good), mine(5, 1), read}},
	} {
		d := Drift{}
		d.Joined("1.2")
		for i, b := range beats {
			if got := d.Compare(&b.state, b.copy); got != b.want {
				t.Errorf("%s, heartbeat %d: %+v, want %+v", what, i, got, b.want)
			}
		}
	}
}

// TestBlind: without a digest the whole list is read each minute.
func TestBlind(t *testing.T) {
	d := Drift{}
	for round := range 2 {
		for i := range MostBlind - 1 {
			if got := d.Compare(&State{}, ListCopy{}); got != (DriftAction{}) {
				t.Fatalf("round %d, heartbeat %d: %+v", round, i, got)
			}
		}
		if got := d.Compare(&State{}, ListCopy{}); got != (DriftAction{Read: true}) {
			t.Fatalf("round %d: %+v", round, got)
		}
	}
}
