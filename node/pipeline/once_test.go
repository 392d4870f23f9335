package pipeline

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/haproxy/peers"
	"edgeguard/shard"
)

// scene is a site of which several things tell: what was sent to it, and what became of that, are
// counted beside.
type scene struct {
	*Pipeline
	t         *testing.T
	now       time.Time
	log       func(time.Time, []edgeguard.Event)
	other     func(time.Time, []edgeguard.Event) // of a host that no proxy asks about
	increases func(time.Time, string, []peers.Increase) peers.Outcome
	sent      struct{ requests, refused, asked, turnedAway, served uint64 }
}

const onceRules = "rules: [{name: small, threshold: 10, guard: 1, block_for: 1h}]\n"

func newScene(t *testing.T, text string) *scene {
	t.Helper()
	c, err := config.Parse("f", []byte(text+onceRules))
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{}), Seed: 1, Boot: benchStart, Crossed: func(edgeguard.Crossing) {}}, c)
	t.Cleanup(p.Close)
	return &scene{Pipeline: p, t: t, now: benchStart, log: p.Batches("log a"), other: p.Batches("log b"), increases: p.Increases("haproxy", false)}
}

const sender = "203.0.113.5"

// question is a request of the sender that a proxy asks about; it reports whether it goes on.
func (s *scene) question(decide edgeguard.Decider) bool {
	ev := edgeguard.Event{Time: s.now, Addr: netip.MustParseAddr(sender), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	s.sent.requests++
	if decide(s.now, &ev).Action != edgeguard.ActionDeny {
		return true
	}
	s.sent.refused++
	s.sent.asked++
	return false
}

// answer is the line that a log has of the last request.
func (s *scene) answer(log func(time.Time, []edgeguard.Event), kind edgeguard.Kind, passed bool) {
	status := uint16(200)
	if !passed {
		status = 403
	}
	ev := line(sender, s.now, status)
	ev.Kind, ev.Verified = kind, kind
	log(s.now, []edgeguard.Event{ev})
}

// TestOneRequestIsOne: what was sent and refused is what the statistics, the block and the
// verdicts by rule have, whoever tells of it: the questions, what logs show as turned away, and what they
// show as served are views of it.
func TestOneRequestIsOne(t *testing.T) {
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	const asks, tells = "listen: {auth: [{address: '127.0.0.1:9180', emit: %s}]}\n", "sensors: {accesslog: [{file: /a.log, format: combined, emit: [%s]}, {file: /b.log, format: combined}]}\n"
	alone := "sensors: {accesslog: [{file: /a.log, format: combined}]}\nlisten: {auth: []}\n"
	for name, c := range map[string]struct {
		config string
		send   func(s *scene, i int)
	}{
		"forward auth and a log": {fmt.Sprintf(asks+tells, "request", "response"), func(s *scene, _ int) {
			passed := s.question(s.Decide)
			s.answer(s.log, edgeguard.KindResponse, passed)
			if !passed {
				s.sent.turnedAway++
			}
		}},
		"forward auth looks up, a log counts": {fmt.Sprintf(asks+tells, "nothing", "request, response"), func(s *scene, _ int) {
			passed := s.question(s.LookUp)
			s.answer(s.log, both, passed)
			if s.sent.asked = 0; !passed { // the block tells of those that it counts by
				s.sent.turnedAway++
			} else if s.sent.requests == 11 {
				s.sent.refused++ // this line made the block
			}
		}},
		"one host asks, another is logged": {fmt.Sprintf(asks+tells, "request", "response"), func(s *scene, i int) {
			if i%3 > 0 {
				passed := s.question(s.Decide)
				s.answer(s.log, edgeguard.KindResponse, passed)
				if !passed {
					s.sent.turnedAway++
				}
				return
			}
			s.answer(s.other, both, true) // and no list is in force there
			if s.sent.requests++; s.sent.requests > 10 {
				s.sent.refused++
			}
			if s.sent.requests > 11 {
				s.sent.served++
			}
		}},
		"a log alone": {alone, func(s *scene, _ int) {
			s.answer(s.log, both, true)
			if s.sent.requests++; s.sent.requests > 10 {
				s.sent.refused++
			}
			if s.sent.requests > 11 {
				s.sent.served++
			}
		}},
		"HAProxy's tables and a log": {"listen: {auth: []}\nhaproxy: {peers: {listen: 'unix:/run/peers.sock'}}\n" + fmt.Sprintf(tells, "response"), func(s *scene, _ int) {
			if s.sent.requests++; s.sent.requests > 10 {
				s.sent.refused++
			}
			passed := s.sent.requests <= 11 // its table knows of the block from the next one on
			// Whichever comes first.
			tell := func() {
				out := s.increases(s.now, s.Current().Columns.Table(), []peers.Increase{{Key: netip.MustParseAddr(sender), N: 1, At: s.now}})
				if !out.Known {
					s.t.Fatal("the table is not known")
				}
			}
			if s.sent.requests%2 == 0 {
				tell()
			}
			s.answer(s.log, edgeguard.KindResponse, passed)
			if s.sent.requests%2 == 1 {
				tell()
			}
			if !passed {
				s.sent.turnedAway++
			}
		}},
		"a question that timed out": {fmt.Sprintf(asks+tells, "request", "response"), func(s *scene, i int) {
			passed := s.question(s.Decide)
			late := !passed && i%4 == 0
			s.answer(s.log, edgeguard.KindResponse, passed || late)
			switch {
			case late:
				s.sent.served++
			case !passed:
				s.sent.turnedAway++
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, c.config)
			for i := range 60 {
				s.now = s.now.Add(time.Second)
				c.send(s, i)
			}
			if got := s.Current().Detector.Stats(); got.Events != s.sent.requests || got.Denied != s.sent.refused || got.Passed != s.sent.requests-s.sent.refused {
				t.Errorf("statistics: %+v, sent %+v", got, s.sent)
			}
			prefix := netip.MustParsePrefix(sender + "/32")
			refused, _, _ := s.made.List.Refusals(prefix)
			if became := s.made.List.Became(prefix); uint64(refused) != s.sent.refused || uint64(became.Asked) != s.sent.asked ||
				uint64(became.TurnedAway) != s.sent.turnedAway || uint64(became.Served) != s.sent.served {
				t.Errorf("the block: %d refused, %+v, sent %+v", refused, became, s.sent)
			}
			var denied uint64
			s.Verdicts.Each(func(by Ruling, n uint64) { denied += n })
			if asked := s.sent.asked; denied+asked != s.sent.refused { // those of questions are counted where they are asked
				t.Errorf("verdicts: %d and %d asked, %d were refused", denied, asked, s.sent.refused)
			}
		})
	}
}
