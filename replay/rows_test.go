package replay_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// once is a source of one batch.
type once struct{ events []edgeguard.Event }

func (o *once) Next() ([]edgeguard.Event, error) {
	events := o.events
	o.events = nil
	return events, io.EOF
}

// crowd is a log in which few ask often, and many a little more than they may.
func crowd(seed uint64) []edgeguard.Event {
	r := rand.New(rand.NewPCG(seed, 0))
	var events []edgeguard.Event
	now := time.Unix(1_800_000_000, 0)
	for i := range 40_000 {
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(20))})
		switch n := uint32(r.IntN(2000) + i/20); r.IntN(8) {
		case 0:
		case 1:
			addr = netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0x0d, 3: 0xb8, 6: byte(n >> 8), 7: byte(n), 15: 1})
		default:
			addr = netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)})
		}
		now = now.Add(time.Duration(r.IntN(100)) * time.Millisecond)
		events = append(events, edgeguard.Event{Time: now, Addr: addr, Host: fmt.Sprint("h", r.IntN(2)), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
	}
	return events
}

// TestRowsAreBounded holds a replay that keeps few rows against one that keeps
// all: equal totals, a row that was never dropped is the same, one that came back
// says no more than the truth, nobody who stands out is missing, and the numbers
// of keys are close.
func TestRowsAreBounded(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{
		{Name: "few", Threshold: 3, Guard: "1", BlockFor: time.Minute},
		{Name: "host", Threshold: 5, Guard: "1", Key: rules.Group{With: []string{"host"}}, Action: edgeguard.ActionDeny},
	})
	if problems != nil {
		t.Fatal(problems)
	}
	const most = 500
	for seed := range uint64(3) {
		run := func(rows int) (*replay.Report, map[replay.Offender]bool, int) {
			report, err := replay.Run(context.Background(), &once{crowd(seed)}, replay.Config{Rules: set, Memory: shard.NewMemory(64 << 20), MaxRows: rows})
			if err != nil {
				t.Fatal(err)
			}
			all, n := make(map[replay.Offender]bool), 0
			for _, rr := range report.Rules {
				for _, o := range rr.Offenders {
					all[o] = true
					n++
				}
			}
			return report, all, n
		}
		want, all, total := run(0)
		got, kept, n := run(most)
		if got.Stats != want.Stats || got.First != want.First || got.Last != want.Last || got.Evicted+want.Evicted != 0 {
			t.Errorf("%+v, want %+v", got.Stats, want.Stats)
		}
		if n > most || n < most/2 || total < 3*most || got.RowsDropped < uint64(total-n) || want.RowsDropped != 0 || want.Keys.About || !got.Keys.About {
			t.Errorf("%d rows of %d, %d dropped", n, total, got.RowsDropped)
		}
		type key struct{ rule, key string }
		truth := make(map[key]replay.Offender)
		for o := range all {
			truth[key{o.Rule, o.Key.String()}] = o
		}
		same := 0
		for o := range kept {
			whole := truth[key{o.Rule, o.Key.String()}]
			early := o // what a network around it was refused before it crossed may be lost
			if early.Refused < whole.Refused && o.Key.Prefix.Addr().Is6() {
				early.Refused = whole.Refused
			}
			if early == whole {
				same++
			} else if !o.First.After(whole.First) || o.Last != whole.Last || o.Crossings >= whole.Crossings || o.Refused > whole.Refused {
				t.Errorf("%+v, want %+v", o, whole)
			}
		}
		if same < n/3 {
			t.Errorf("%d of %d rows are whole", same, n)
		}
		for o := range all {
			if o.Refused >= 100 && !kept[o] {
				t.Errorf("missing or not whole: %+v", o)
			}
		}
		for i := range want.Rules {
			if got.Rules[i].Refused != want.Rules[i].Refused {
				t.Errorf("rule %d refused %d, want %d", i, got.Rules[i].Refused, want.Rules[i].Refused)
			}
		}
		if d := got.Keys.Blocked - want.Keys.Blocked; want.Keys.Blocked < 2*most || 20*max(d, -d) > want.Keys.Blocked {
			t.Errorf("about %d blocked, want %d", got.Keys.Blocked, want.Keys.Blocked)
		}
	}
}

// A replay's list has the budget of a live node's.
func TestBlocksAreBounded(t *testing.T) {
	set, problems := rules.Compile([]rules.Spec{{Name: "few", Threshold: 3, Guard: "1", BlockFor: time.Hour, Wide: rules.WideOff}})
	if problems != nil {
		t.Fatal(problems)
	}
	for most, evicts := range map[int]bool{0: false, 100: true} {
		report, err := replay.Run(context.Background(), &once{crowd(1)}, replay.Config{Rules: set, Memory: shard.NewMemory(64 << 20), MaxBlocks: most})
		if err != nil || report.BlocksEvicted > 0 != evicts {
			t.Errorf("at most %d blocks: %d evicted, %v", most, report.BlocksEvicted, err)
		}
	}
}
