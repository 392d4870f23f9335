package replay_test

import (
	"context"
	"io"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// failures are those of forty addresses, one each, after which the file ends.
type failures struct{ read bool }

func (f *failures) Next() (events []edgeguard.Event, err error) {
	if f.read {
		return nil, io.EOF
	}
	f.read = true
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	for i := range 40 {
		events = append(events, edgeguard.Event{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Addr: netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}),
			Kind: both, Verified: both, Known: edgeguard.FieldStatus, Status: 401})
	}
	return events, nil
}

// A crossing that waits whether the site fails is told when the file ends.
func TestWaitingIsTold(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "crowd", Match: rules.Match{Status: []string{"401"}}, Key: rules.Group{Everybody: true}, Distinct: "address", Threshold: 30, Guard: "1", Action: edgeguard.ActionShadow}})
	if problems != nil {
		t.Fatal(problems)
	}
	told := 0
	_, err := replay.Run(context.Background(), new(failures), replay.Config{Rules: set, Memory: shard.NewMemory(16 << 20), Crossed: func(edgeguard.Crossing) { told++ }})
	if err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
}
