package pipeline

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/crawlers"
	"edgeguard/shard"
)

// Events are marked before they are decided, one by one and in batches. A reload
// keeps what is known of crawlers, unless their config is another.
func TestCrawlers(t *testing.T) {
	parse := func(text string) *config.Config {
		t.Helper()
		c, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const rule = "\nrules: [{name: site, threshold: 5, match: {not: {crawler: verified}}}]"
	c := parse("crawlers: [{name: googlebot, ranges: /g.json}]" + rule)
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Crossed: func(edgeguard.Crossing) {}}, c)
	defer p.Close()
	p.Current().Crawlers.SetRanges(0, crawlers.NewRanges([]netip.Prefix{netip.MustParsePrefix("66.249.64.0/27")}))
	event := func(addr string) edgeguard.Event {
		return edgeguard.Event{Time: benchStart, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest,
			Known: edgeguard.FieldAgent, Agent: "Googlebot/2.1"}
	}
	send := func(addr string) (last edgeguard.Action) {
		for range 10 {
			ev := event(addr)
			last = p.Decide(benchStart, &ev).Action
		}
		return last
	}
	if a, b := send("66.249.64.1"), send("192.0.2.1"); a != edgeguard.ActionPass || b != edgeguard.ActionDeny {
		t.Errorf("the crawler: %v, an impostor: %v", a, b)
	}
	var many []edgeguard.Event
	for range 10 {
		many = append(many, event("66.249.64.2"), event("192.0.2.2"))
	}
	p.Batches("log")(benchStart, many)
	if got := p.Current().Crawlers.Figures(); got.Verified != 20 || got.Impostors != 20 {
		t.Errorf("%+v", got)
	}
	if n := p.made.List.Len(); n != 2 {
		t.Errorf("%d blocks, want those of the two impostors", n)
	}
	before := p.Current().Crawlers
	p.Replace(benchStart, parse("mode: monitor\ncrawlers: [{name: googlebot, ranges: /g.json}]"+rule))
	if p.Current().Crawlers != before {
		t.Error("a reload forgot the crawlers")
	}
	p.Replace(benchStart, parse("crawlers: [{name: googlebot, ranges: /h.json}]"+rule))
	if p.Current().Crawlers == before {
		t.Error("other crawlers are not in force")
	}
	p.Replace(benchStart, parse("rules: [{name: site, threshold: 5}]"))
	if ev := event("192.0.2.9"); p.Current().Crawlers != nil || p.Decide(benchStart.Add(time.Second), &ev).Action != edgeguard.ActionPass || ev.Crawler != "" {
		t.Error("there are crawlers without any in the config")
	}
}
