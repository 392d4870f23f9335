package checks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
)

// flooded is a node's pipeline and its check, with what they said.
type flooded struct {
	pass           func(time.Time, []edgeguard.Event)
	check          *Flooded
	pipeline       *pipeline.Pipeline
	alarms, logged []string
	next           uint32
}

func newFlooded(t *testing.T) *flooded {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "syns", Threshold: 60_000, Match: rules.Match{Kind: []string{"syn"}}}})
	if problems != nil {
		t.Fatal(problems)
	}
	f := &flooded{}
	f.pipeline = pipeline.New(pipeline.Config{
		Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: testBegin, Offset: func() time.Duration { return 0 },
	}, &config.Config{Rules: set, Floods: config.Floods{Sources: 1000}})
	t.Cleanup(f.pipeline.Close)
	f.pass = f.pipeline.Batches("packets")
	f.check = &Flooded{
		Watch:  f.pipeline.Flood,
		Alarms: alarm.New(func(a edgeguard.Alarm) { f.alarms = append(f.alarms, a.Kind+": "+a.Text) }, nil),
		Log:    func(text string, args ...any) { f.logged = append(f.logged, text+fmt.Sprint(args...)) },
	}
	return f
}

// second passes SYNs of so many fresh sources, which complete their handshakes or
// not, and checks.
func (f *flooded) second(n, sources int, complete bool) {
	now := testBegin.Add(time.Duration(n) * time.Second)
	for range sources {
		f.next++
		a := netip.AddrFrom4([4]byte{byte(f.next >> 24), byte(f.next >> 16), byte(f.next >> 8), byte(f.next)})
		events := []edgeguard.Event{{Time: now, Addr: a, Kind: edgeguard.KindSYN}}
		if complete {
			events = append(events, edgeguard.Event{Time: now, Addr: a, Kind: edgeguard.KindHandshake, Verified: edgeguard.KindHandshake})
		}
		f.pass(now, events)
	}
	f.check.Check(now)
}

// A spoofed flood is one alarm, which ends and is logged; a flash crowd is none.
func TestFlood(t *testing.T) {
	f := newFlooded(t)
	for n := range 20 {
		f.second(n, 3000, true)
	}
	if len(f.alarms) > 0 {
		t.Fatalf("a flash crowd: %q", f.alarms)
	}
	for n := 20; n < 50; n++ {
		f.second(n, 2000, false)
	}
	if len(f.alarms) != 1 || !strings.HasPrefix(f.alarms[0], "spoofed_flood: ") || len(f.check.Alarms.Lasting()) != 1 {
		t.Errorf("alarms: %q", f.alarms)
	}
	if figures := f.pipeline.Flood.Figures(); !figures.Lasting || figures.Floods != 1 || figures.Fresh < 50_000 {
		t.Errorf("%+v", figures)
	}
	for n := 50; n < 120; n++ {
		f.second(n, 100, false)
	}
	if len(f.check.Alarms.Lasting()) > 0 || len(f.logged) != 1 || !strings.Contains(f.logged[0], "a spoofed flood has ended") {
		t.Errorf("it has ended: %v, %q", f.check.Alarms.Lasting(), f.logged)
	}
	if i := slices.IndexFunc(f.alarms, func(a string) bool {
		return !strings.Contains(a, "since "+testBegin.Add(20*time.Second).Format(time.RFC3339))
	}); i >= 0 {
		t.Errorf("alarm %q", f.alarms[i])
	}
}
