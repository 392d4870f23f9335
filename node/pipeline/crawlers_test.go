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

// A claimant whose answer is pending is counted; his block waits for two seconds, and
// not if the answer comes before.
func TestBlockWaits(t *testing.T) {
	c, err := config.Parse("f", []byte("crawlers: [{name: yandex, agent: YandexBot, dns: yandex.com}]\nrules: [{name: site, threshold: 5, match: {not: {crawler: verified}}}]"))
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Crossed: func(edgeguard.Crossing) {}}, c)
	defer p.Close()
	decide := func(addr string, after time.Duration) edgeguard.Action {
		now := benchStart.Add(after)
		ev := edgeguard.Event{Time: now, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest,
			Known: edgeguard.FieldAgent, Agent: "YandexBot/3.0"}
		return p.Decide(now, &ev).Action
	}
	for range 20 {
		for _, addr := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
			if got := decide(addr, time.Second); got != edgeguard.ActionPass {
				t.Fatalf("%s while its answer is pending: %v", addr, got)
			}
		}
	}
	known := p.Current().Crawlers
	known.Answer(benchStart.Add(time.Second), netip.MustParseAddr("192.0.2.2"), known.Domain("spider.yandex.com"), true)
	known.Answer(benchStart.Add(time.Second), netip.MustParseAddr("192.0.2.3"), 0, true)
	for _, step := range []struct {
		addr  string
		after time.Duration
		want  edgeguard.Action
	}{
		{"192.0.2.1", 2999 * time.Millisecond, edgeguard.ActionPass},
		{"192.0.2.2", 2 * time.Second, edgeguard.ActionPass},
		{"192.0.2.3", 2 * time.Second, edgeguard.ActionDeny},
		{"192.0.2.1", 3 * time.Second, edgeguard.ActionDeny},
		{"192.0.2.2", time.Minute, edgeguard.ActionPass},
	} {
		if got := decide(step.addr, step.after); got != step.want {
			t.Errorf("%s after %v: %v, want %v", step.addr, step.after, got, step.want)
		}
	}
}
