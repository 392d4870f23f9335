package pipeline

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/shard"
)

// TestLookUpRefusesByAnswers: what a log counts refuses the next request that is only looked
// up, also after a reload, and the statistics have nothing of the question.
func TestLookUpRefusesByAnswers(t *testing.T) {
	c, err := config.Parse("f", []byte("rules: [{name: login, threshold: 3, guard: 1, action: deny, match: {path: /login, status: 401}}]"))
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: benchStart, Crossed: func(edgeguard.Crossing) {}}, c)
	defer p.Close()
	failed := line("203.0.113.5", benchStart, 401)
	failed.Path, failed.Known = "/login", failed.Known|edgeguard.FieldPath
	question := func(path string) edgeguard.Event {
		return edgeguard.Event{Time: benchStart, Addr: netip.MustParseAddr("203.0.113.5"), Path: path, Known: edgeguard.FieldPath}
	}
	read := p.Batches("log a")
	for i := range 6 {
		if ev := question("/login"); (p.LookUp(benchStart, &ev).Action == edgeguard.ActionDeny) != (i > 3) {
			t.Fatalf("before the %d. answer", i+1)
		}
		read(benchStart, []edgeguard.Event{failed})
		if i == 4 {
			p.Replace(benchStart, c)
		}
	}
	if ev := question("/"); p.LookUp(benchStart, &ev).Action != edgeguard.ActionPass {
		t.Error("another path is refused")
	}
	ev := question("/login")
	ev.Kind, ev.Verified = edgeguard.KindRequest, edgeguard.KindRequest
	if v := p.Decide(benchStart, &ev); v.Action != edgeguard.ActionDeny || v.Rule != "login" || v.RetryAfter != 5*time.Minute {
		t.Errorf("%+v", v)
	}
	if s := p.Current().Detector.Stats(); s.Events != 7 || s.Denied != 4 {
		t.Errorf("%+v", s)
	}
}
