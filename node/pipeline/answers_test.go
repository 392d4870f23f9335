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

// line is a log line of an address, written at a time with a status.
func line(addr string, at time.Time, status uint16) edgeguard.Event {
	const both = edgeguard.KindRequest | edgeguard.KindResponse
	return edgeguard.Event{Time: at, Addr: netip.MustParseAddr(addr), Kind: both, Verified: both, Known: edgeguard.FieldStatus, Status: status}
}

// answering is a pipeline in which 203.0.113.5 has been blocked since the start, and
// 192.0.2.0/24 is allowed. Ways take 20 s.
func answering(t *testing.T, mode string) (*Pipeline, *config.Config) {
	t.Helper()
	c, err := config.Parse("f", []byte("mode: "+mode+"\nrules: [{name: site, threshold: 60000}, {name: once, threshold: 3, action: deny}]"))
	if err != nil {
		t.Fatal(err)
	}
	list := blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	p := New(Config{Memory: shard.NewMemory(16 << 20), List: list, Seed: 1, Boot: benchStart, Crossed: func(edgeguard.Crossing) {}}, c)
	t.Cleanup(p.Close)
	for _, addr := range []string{"203.0.113.5/32", "192.0.2.5/32"} {
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(addr), Rule: edgeguard.ManualRule, Since: benchStart.Add(-time.Hour), Until: benchStart.Add(time.Hour)}
		_, _ = list.Force(b, benchStart) // one is refused: allowed
	}
	p.Answers.Takes.Store(int64(20 * time.Second))
	return p, c
}

// Only what was written after a block had time to be in force says something of it, of
// who is blocked, by a status that says it, of a line that no stranger wrote.
func TestAnswers(t *testing.T) {
	late, now := benchStart.Add(21*time.Second), benchStart.Add(30*time.Second)
	unverified := line("203.0.113.5", late, 200)
	unverified.Verified = 0
	unknown := line("203.0.113.5", late, 200)
	unknown.Known = 0
	login := line("203.0.113.5", late, 200)
	login.Kind, login.Verified = edgeguard.KindAuthFailure, edgeguard.KindAuthFailure
	for name, test := range map[string]struct {
		mode        string
		event       edgeguard.Event
		all, recent Treated
	}{
		"served":                      {"enforce", line("203.0.113.5", late, 404), Treated{Served: 1}, Treated{Served: 1}},
		"turned away":                 {"enforce", line("203.0.113.5", late, 403), Treated{TurnedAway: 1}, Treated{TurnedAway: 1}},
		"by a status of its own":      {"enforce", line("203.0.113.5", late, 302), Treated{TurnedAway: 1}, Treated{TurnedAway: 1}},
		"too early":                   {"enforce", line("203.0.113.5", benchStart.Add(20*time.Second), 200), Treated{Served: 1}, Treated{}},
		"turned away too early":       {"enforce", line("203.0.113.5", benchStart.Add(20*time.Second), 429), Treated{TurnedAway: 1}, Treated{}},
		"before the block, read late": {"enforce", line("203.0.113.5", benchStart.Add(-time.Second), 200), Treated{}, Treated{}},
		"by a clock that is ahead":    {"enforce", line("203.0.113.5", now.Add(time.Hour), 200), Treated{Served: 1}, Treated{Served: 1}},
		"an error":                    {"enforce", line("203.0.113.5", late, 502), Treated{}, Treated{}},
		"no HTTP":                     {"enforce", line("203.0.113.5", late, 400), Treated{}, Treated{}},
		"HAProxy without a status":    {"enforce", line("203.0.113.5", late, 0), Treated{}, Treated{}},
		"no status":                   {"enforce", unknown, Treated{}, Treated{}},
		"a stranger's":                {"enforce", unverified, Treated{}, Treated{}},
		"a login":                     {"enforce", login, Treated{}, Treated{}},
		"allowed":                     {"enforce", line("192.0.2.5", late, 200), Treated{}, Treated{}},
		"not blocked":                 {"enforce", line("203.0.113.6", late, 200), Treated{}, Treated{}},
		"monitor":                     {"monitor", line("203.0.113.5", late, 200), Treated{}, Treated{}},
	} {
		p, _ := answering(t, test.mode)
		p.Batches("log a", 302)(now, []edgeguard.Event{test.event})
		if got := p.Answers.Of("log a"); got != test.all {
			t.Errorf("%s: %+v, want %+v", name, got, test.all)
		}
		if got := p.Answers.Recent("log a", now).Treated; got != test.recent {
			t.Errorf("%s: recently %+v, want %+v", name, got, test.recent)
		}
		if got := p.Answers.Of("log b"); got != (Treated{}) {
			t.Errorf("%s: another log: %+v", name, got)
		}
	}
}

// A block that another node made long ago is given its time from when it came here, one that
// begins anew from then, whatever was there before; and no line is from after now.
func TestAnswersOfABlock(t *testing.T) {
	p, _ := answering(t, "enforce")
	ripe := func(at time.Duration, ev edgeguard.Event, want bool) {
		t.Helper()
		now, log := benchStart.Add(at), "log "+at.String()
		p.Batches(log)(now, []edgeguard.Event{ev})
		if got := p.Answers.Recent(log, now).Served > 0; got != want {
			t.Errorf("after %v: %t, want %t", at, got, want)
		}
	}
	blocks := func(addr string, since, until, now time.Duration) {
		t.Helper()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(addr + "/32"), Rule: edgeguard.ManualRule, Since: benchStart.Add(since), Until: benchStart.Add(until)}
		if _, err := p.made.List.Force(b, benchStart.Add(now)); err != nil {
			t.Fatal(err)
		}
	}
	served := func(addr string, at time.Duration) edgeguard.Event { return line(addr, benchStart.Add(at), 200) }
	blocks("203.0.113.8", -time.Hour, 2*time.Minute, time.Minute)
	ripe(65*time.Second, served("203.0.113.8", 65*time.Second), false)
	ripe(66*time.Second, served("203.0.113.8", time.Hour), false)
	ripe(81*time.Second, served("203.0.113.8", 81*time.Second), true)
	blocks("203.0.113.8", 121*time.Second, time.Hour, 121*time.Second)
	ripe(125*time.Second, served("203.0.113.8", 125*time.Second), false)
	ripe(142*time.Second, served("203.0.113.8", 142*time.Second), true)
}

// Before anybody has looked which ways there are, a block is given the time of a list.
func TestAnswersAtTheStart(t *testing.T) {
	p, _ := answering(t, "enforce")
	q := New(p.made, p.Current().Config)
	t.Cleanup(q.Close)
	for at, want := range map[time.Duration]uint64{time.Second: 0, LeastTakes: 0, LeastTakes + time.Second: 1} {
		now := benchStart.Add(at)
		q.Batches("log "+at.String())(now, []edgeguard.Event{line("203.0.113.5", now, 200)})
		if got := q.Answers.Recent("log "+at.String(), now).Served; got != want {
			t.Errorf("after %v: %d served, want %d", at, got, want)
		}
	}
}

// A block keeps what became of its events, a rule that denies events alone is none, and what
// is older than five minutes is forgotten.
func TestAnswersAddUp(t *testing.T) {
	p, _ := answering(t, "enforce")
	read := p.Batches("log a")
	now := benchStart.Add(time.Minute)
	for i := range 5 {
		read(now, []edgeguard.Event{line("203.0.113.5", now, 200), line("203.0.113.5", now, 429), line("203.0.113.7", now, uint16(200+i))})
	}
	if got, want := p.made.List.Became(netip.MustParsePrefix("203.0.113.5/32")), (blocklist.Became{TurnedAway: 5, Served: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := p.Answers.Of("log a"); got.TurnedAway != 5 || got.Served <= 5 {
		t.Errorf("what a rule denies is missing: %+v", got)
	}
	for at, want := range map[time.Duration]uint64{answersFor - answerSlot: 5, answersFor: 0, time.Hour: 0} {
		q, _ := answering(t, "enforce")
		q.Batches("log a")(now, []edgeguard.Event{line("203.0.113.5", now, 200), line("203.0.113.5", now, 200), line("203.0.113.5", now, 200), line("203.0.113.5", now, 200), line("203.0.113.5", now, 200)})
		if got := q.Answers.Recent("log a", now.Truncate(answerSlot).Add(at)); got.Served != want {
			t.Errorf("after %v: %+v, want %d", at, got, want)
		}
	}
	ev := line("203.0.113.5", now, 0)
	p.Decide(now, &ev)
	if got := p.made.List.Became(netip.MustParsePrefix("203.0.113.5/32")); got.Asked != 1 {
		t.Errorf("%+v", got)
	}
}

// After mode monitor, in which lists are empty, they have time to be filled again; a reload
// that keeps the mode changes nothing.
func TestAnswersOfAMode(t *testing.T) {
	p, enforce := answering(t, "enforce")
	monitor := *enforce
	monitor.Monitor = true
	at := benchStart.Add(10 * time.Minute)
	served := func(after time.Duration) uint64 {
		now := at.Add(after)
		before := p.Answers.Recent("log a", now).Served
		p.Batches("log a")(now, []edgeguard.Event{line("203.0.113.5", now, 200)})
		return p.Answers.Recent("log a", now).Served - before
	}
	p.Replace(at, enforce)
	if served(0) != 1 {
		t.Error("a reload is a pause")
	}
	p.Replace(at, &monitor)
	p.Replace(at.Add(time.Second), enforce)
	if served(21*time.Second) != 0 || served(22*time.Second) != 1 {
		t.Error("lists had no time")
	}
}
