package replay_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/pipeline"
	"edgeguard/replay"
	"edgeguard/shard"
)

// recorded is a source of events that are there already.
type recorded struct{ events []edgeguard.Event }

func (s *recorded) Next() ([]edgeguard.Event, error) {
	if len(s.events) == 0 {
		return nil, io.EOF
	}
	n := min(len(s.events), 100)
	out := s.events[:n]
	s.events = s.events[n:]
	return out, nil
}

// TestAskedAsLive: a replay refuses the requests that a node refuses which is asked about each
// before its answer comes.
func TestAskedAsLive(t *testing.T) {
	const text = `rules:
- {name: login, threshold: 3, action: deny, match: {path: /login, status: 401}}
- {name: hosts, threshold: 4, action: deny, window: 1m, key: {with: [host]}, match: {status: [401, 404]}}
- {name: paths, count: {distinct: path}, threshold: 2, action: deny, window: 1m, match: {status: 404}}
- {name: scan, threshold: 7, block_for: 30s, match: {status: 404}}
- {name: unasked, threshold: 3, action: deny, when: status == 401}
- {name: shadow, threshold: 3, action: shadow, match: {status: 401}}
`
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	start := time.Unix(1_780_000_000, 0)
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	var events []edgeguard.Event
	now := start
	for range 6000 {
		now = now.Add(time.Duration(r.IntN(1200)) * time.Millisecond)
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(r.IntN(6))})
		if r.IntN(3) == 0 {
			addr = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: byte(r.IntN(4)), 15: 1})
		}
		events = append(events, edgeguard.Event{
			Time: now, Addr: addr, Kind: both, Verified: both, Known: edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldHost,
			Path: []string{"/login", "/a", "/b", "/c"}[r.IntN(4)], Host: []string{"x", "y"}[r.IntN(2)], Status: []uint16{200, 401, 404}[r.IntN(3)],
		})
	}
	blocked := false // by the answer in hand
	p := pipeline.New(pipeline.Config{Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: start, Crossed: func(c edgeguard.Crossing) {
		blocked = blocked || c.Action == edgeguard.ActionBlock
	}}, c)
	defer p.Close()
	read, want, all := p.Batches("log"), map[string]uint64{}, uint64(0)
	for i := range events {
		question := events[i]
		question.Kind, question.Verified, question.Status, question.Known = 0, 0, 0, question.Known&^edgeguard.FieldStatus
		v := p.LookUp(question.Time, &question)
		blocked = false
		line := events[i]
		if v.Action == edgeguard.ActionDeny {
			line.Status = 403 // which is no evidence, and in a replay nothing of the site's is
		}
		read(line.Time, []edgeguard.Event{line})
		if blocked { // a replay has the answer that makes a block among what the block refused
			v = edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "scan"}
		}
		if v.Action == edgeguard.ActionDeny {
			want[v.Rule]++
			all++
		}
	}
	report, err := replay.Run(context.Background(), &recorded{events}, replay.Config{Rules: c.Rules, Memory: shard.NewMemory(64 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	if report.Denied != all {
		t.Errorf("%d refused, live %d", report.Denied, all)
	}
	for _, rule := range report.Rules {
		name := rule.Rule.Name
		if refuses := name != "unasked" && name != "shadow"; rule.Refused != want[name] || refuses != (want[name] > 0) {
			t.Errorf("rule %s refused %d, live %d", name, rule.Refused, want[name])
		}
	}
}
