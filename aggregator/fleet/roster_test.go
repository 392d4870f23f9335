package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
)

var rosterStart = time.Unix(1_800_000_000, 0)

func at(after time.Duration) time.Time { return rosterStart.Add(after) }

// beat is a heartbeat of a node that started an hour ago.
func beat(node, boot string, sent time.Duration, seq uint64) aggregator.Heartbeat {
	return aggregator.Heartbeat{
		Node: node, Boot: boot, Started: rosterStart.Add(-time.Hour), At: at(sent), Run: "0000000" + boot, Seq: seq,
	}
}

func came(h aggregator.Heartbeat) News { return News{Field: h.Field(), Value: h.Encode(), Alive: true} }

func gone(h aggregator.Heartbeat) News { return News{Field: h.Field()} }

func parse(field, value string) (aggregator.Heartbeat, bool, bool) {
	h, ok := aggregator.ParseHeartbeat(field, value)
	return h, false, ok
}

func newRoster() *Roster { return NewRoster("a", "1", func() float64 { return 0.5 }) }

// shown lists who is alive, with the sequence of the newest heartbeat.
func shown(r *Roster) string {
	var out []string
	for _, h := range r.Alive() {
		out = append(out, fmt.Sprint(h.Field(), ":", h.Seq))
	}
	return strings.Join(out, " ")
}

// Who comes and goes by news, and what a heartbeat that does not count changes:
// nothing.
func TestNews(t *testing.T) {
	r := newRoster()
	for _, step := range []struct {
		name  string
		now   time.Duration
		news  []News
		whole bool
		want  string
	}{
		{"two come", 0, []News{came(beat("a", "1", 0, 1)), came(beat("b", "2", 0, 1))}, true, "a/1:1 b/2:1"},
		{"nothing is new", 30 * time.Second, nil, false, "a/1:1 b/2:1"},
		{"one reports something else", 30 * time.Second, []News{came(beat("a", "1", 29*time.Second, 15))}, false, "a/1:15 b/2:1"},
		{"an earlier one of it", 31 * time.Second, []News{came(beat("a", "1", 28*time.Second, 14))}, false, "a/1:15 b/2:1"},
		{"the same again", 31 * time.Second, []News{came(beat("a", "1", 29*time.Second, 15))}, false, "a/1:15 b/2:1"},
		{"one goes", 32 * time.Second, []News{gone(beat("a", "1", 0, 0))}, false, "b/2:1"},
		{"its last heartbeat, replayed", 33 * time.Second, []News{came(beat("a", "1", 29*time.Second, 15))}, false, "b/2:1"},
		{"it is back", 34 * time.Second, []News{came(beat("a", "1", 34*time.Second, 16))}, false, "a/1:16 b/2:1"},
		{"too old", 60 * time.Second, []News{came(beat("c", "3", 60*time.Second-Fresh, 1))}, false, "a/1:16 b/2:1"},
		{"just young enough", 60 * time.Second, []News{came(beat("c", "3", 60*time.Second-Fresh+1, 1))}, false, "a/1:16 b/2:1 c/3:1"},
		{"from the future", 60 * time.Second, []News{came(beat("d", "4", 60*time.Second+Fresh, 1))}, false, "a/1:16 b/2:1 c/3:1"},
		{"under another field", 60 * time.Second, []News{{"e/5", beat("a", "1", 60*time.Second, 17).Encode(), true}}, false, "a/1:16 b/2:1 c/3:1"},
		{"no heartbeat", 60 * time.Second, []News{{"a/1", "{", true}, {"", "", true}}, false, "a/1:16 b/2:1 c/3:1"},
		{"a list that lacks two", 62 * time.Second, []News{came(beat("a", "1", 61*time.Second, 17))}, true, "a/1:17"},
		{"a list with one that is old", 80 * time.Second, []News{came(beat("a", "1", 61*time.Second, 17)), came(beat("b", "2", 80*time.Second, 20))}, true, "b/2:20"},
		{"a list with one that said farewell", 82 * time.Second, []News{{"b/2", beat("b", "2", 81*time.Second, 21).Encode(), false}}, true, ""},
	} {
		r.Apply(at(step.now), &State{Now: at(step.now), News: step.news, Whole: step.whole}, parse)
		if got := shown(r); got != step.want {
			t.Fatalf("%s: %q is alive, want %q", step.name, got, step.want)
		}
	}
}

// Where MACs are required an unsigned heartbeat does not count, nor one of
// another fleet or under another field; in accept mode it counts, unsigned.
func TestSignedHeartbeats(t *testing.T) {
	keys, err := aggregator.ParseSigningKeys(aggregator.NewSigningKey([32]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	good, late := beat("a", "1", 0, 1), beat("a", "1", 2*time.Second, 2)
	for _, test := range []struct {
		name, value      string
		accepts, require string
	}{
		{"signed", late.EncodeSigned(keys, "ns"), "a/1:2 signed", "a/1:2 signed"},
		{"unsigned", late.Encode(), "a/1:2", "a/1:1 signed"},
		{"of another fleet", late.EncodeSigned(keys, "other"), "a/1:2", "a/1:1 signed"},
		{"changed", strings.Replace(late.EncodeSigned(keys, "ns"), `"seq":2`, `"seq":3`, 1), "a/1:3", "a/1:1 signed"},
	} {
		for _, required := range []bool{false, true} {
			r, want := newRoster(), test.accepts
			if required {
				want = test.require
			}
			verify := func(field, value string) (aggregator.Heartbeat, bool, bool) {
				h, signed, ok := aggregator.VerifyHeartbeat(keys, "ns", field, value)
				return h, signed, ok && (signed || !required)
			}
			r.Apply(at(0), &State{Now: at(0), News: []News{{good.Field(), good.EncodeSigned(keys, "ns"), true}}, Whole: true}, verify)
			r.Apply(at(2*time.Second), &State{Now: at(2 * time.Second), News: []News{{late.Field(), test.value, true}}, Whole: false}, verify)
			got := shown(r)
			if alive := r.Alive(); len(alive) == 1 && alive[0].Signed {
				got += " signed"
			}
			if got != want {
				t.Errorf("%s, required %v: %q, want %q", test.name, required, got, want)
			}
		}
	}
}

// When Redis' clock was set back, the heartbeats before that are from the future
// and keep no later one out; after a small step the sequence decides.
func TestRedisClockSetBack(t *testing.T) {
	r := newRoster()
	r.Apply(at(time.Hour), &State{Now: at(time.Hour), News: []News{came(beat("a", "1", time.Hour, 100))}, Whole: true}, parse)
	r.Apply(at(time.Hour-3*time.Second), &State{Now: at(time.Hour - 3*time.Second), News: []News{came(beat("a", "1", time.Hour-3*time.Second, 101))}, Whole: false}, parse)
	if got := shown(r); got != "a/1:101" {
		t.Errorf("after a step of 3 s: %q", got)
	}
	r.Apply(at(0), &State{Now: at(0), News: []News{came(beat("a", "1", 0, 7))}, Whole: true}, parse)
	if got := shown(r); got != "a/1:7" {
		t.Errorf("after a step of an hour: %q", got)
	}
}

// Names are known for an hour after a node has gone, and its counts are evidence
// for as long as the caller says.
func TestNamesAndEvidence(t *testing.T) {
	r := newRoster()
	a := beat("a", "1", 0, 1)
	dead := beat("b", "2", -time.Minute, 1)
	r.Apply(at(0), &State{Now: at(0), News: []News{came(a), {dead.Field(), dead.Encode(), false}}, Whole: true}, parse)
	window := 5 * time.Minute
	check := func(when string, now time.Duration, id [8]byte, name string, evidence bool) {
		t.Helper()
		if got := r.NodeName(id); got != name {
			t.Errorf("%s: the name is %q, want %q", when, got, name)
		}
		if got := r.Evidence(id, at(now-window)); got != evidence {
			t.Errorf("%s: evidence %v, want %v", when, got, evidence)
		}
	}
	check("alive", 0, a.ID(), "a", true)
	check("alive for long, without news", 30*time.Minute, a.ID(), "a", true)
	check("gone before this node came", 0, dead.ID(), "b", true)
	check("gone for a window", 4*time.Minute, dead.ID(), "b", true)
	check("gone for longer", 4*time.Minute+time.Second, dead.ID(), "b", false)
	check("never seen", 0, [8]byte{1}, "", false)
	r.Apply(at(59*time.Minute), &State{Now: at(59 * time.Minute), News: []News{came(beat("c", "3", 59*time.Minute, 1))}, Whole: true}, parse)
	check("its last heartbeat is old, and it has just gone", 59*time.Minute, a.ID(), "a", true)
	check("gone for a window, its heartbeat for longer", 64*time.Minute, a.ID(), "a", true)
	check("gone for longer than a window", 64*time.Minute+time.Second, a.ID(), "a", false)
	r.Apply(at(118*time.Minute), &State{Now: at(118 * time.Minute), Whole: true}, parse)
	check("gone for 59 minutes", 118*time.Minute, a.ID(), "a", false)
	r.Apply(at(119*time.Minute), &State{Now: at(119 * time.Minute), Whole: true}, parse)
	check("gone for an hour", 119*time.Minute, a.ID(), "", false)
	r = newRoster()
	r.RememberFor(3 * time.Hour)
	r.Apply(at(0), &State{Now: at(0), News: []News{came(a)}, Whole: true}, parse)
	r.Apply(at(time.Minute), &State{Now: at(time.Minute), News: []News{gone(a)}}, parse)
	r.Apply(at(2*time.Hour), &State{Now: at(2 * time.Hour), Whole: true}, parse)
	check("kept for a long window", 6*time.Minute, a.ID(), "a", true)
	if named := NamedRoster(map[[8]byte]string{a.ID(): "x"}); named.NodeName(a.ID()) != "x" || named.NodeName(dead.ID()) != "" ||
		!named.Evidence(a.ID(), at(0)) || named.Evidence(dead.ID(), at(0)) {
		t.Error("a roster of names")
	}
}

// A list that a client filled with rubbish is bounded.
func TestRosterBounded(t *testing.T) {
	r := newRoster()
	var news []News
	for i := range mostNodes + 100 {
		news = append(news, came(beat(fmt.Sprint("n", i), "1", 0, 1)))
	}
	r.Apply(at(0), &State{Now: at(0), News: news, Whole: true}, parse)
	if len(r.nodes) != mostNodes || len(r.byID) != mostNodes {
		t.Errorf("%d nodes are remembered, want %d", len(r.nodes), mostNodes)
	}
}

// News put together are what a whole list says, in any order of nodes that come,
// go, fall silent and come back.
func TestNewsAreTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		byNews, state := newRoster(), map[string]News{}
		seq := uint64(0)
		for step := range 200 {
			now := time.Duration(step) * time.Second
			name := fmt.Sprint("n", rng.IntN(20))
			h := beat(name, "1", now, 0)
			var one News
			if seq++; rng.IntN(3) == 0 {
				if one = state[h.Field()]; one.Field == "" {
					continue
				}
				one.Alive = false
			} else {
				h.Seq = seq
				one = came(h)
			}
			state[one.Field] = one
			byNews.Apply(at(now), &State{Now: at(now), News: []News{one}, Whole: false}, parse)
		}
		now := at(200 * time.Second)
		var list []News
		for _, one := range state {
			if h, _ := aggregator.ParseHeartbeat(one.Field, one.Value); one.Alive {
				h.At = now // whoever is alive goes on reporting
				one.Value = h.Encode()
			}
			list = append(list, one)
		}
		whole := newRoster()
		whole.Apply(now, &State{Now: now, News: list, Whole: true}, parse)
		if got, want := shown(byNews), shown(whole); got != want {
			t.Fatalf("round %d: news say %q, the list %q", round, got, want)
		}
	}
}

// Two runs of one name are duplicates while both are alive, and have been for
// longer than a restart takes.
func TestDuplicates(t *testing.T) {
	run := func(node, boot string, started, sent time.Duration) aggregator.Heartbeat {
		return aggregator.Heartbeat{Node: node, Boot: boot, Started: rosterStart.Add(-started), At: rosterStart.Add(-sent)}
	}
	long := run("a", "1", time.Hour, time.Second)
	for _, test := range []struct {
		name  string
		beats []aggregator.Heartbeat
		names int
		want  []string
	}{
		{"alone", []aggregator.Heartbeat{long}, 1, nil},
		{"two names", []aggregator.Heartbeat{long, run("b", "2", time.Hour, 0)}, 2, nil},
		{"two of one name", []aggregator.Heartbeat{long, run("a", "2", time.Minute, 0)}, 1, []string{"a"}},
		{"three of one name", []aggregator.Heartbeat{long, run("a", "2", time.Minute, 0), run("a", "3", time.Minute, 0)}, 1, []string{"a"}},
		{"one that has just started", []aggregator.Heartbeat{long, run("a", "2", 2*time.Second, 0)}, 1, nil},
		{"one that ended as the other started", []aggregator.Heartbeat{run("a", "1", time.Hour, 7*time.Second), run("a", "2", 8*time.Second, 0)}, 1, nil},
	} {
		if got := Duplicates(test.beats); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if got := Names(test.beats, "a"); got != test.names {
			t.Errorf("%s: %d names, want %d", test.name, got, test.names)
		}
	}
	if got := Names(nil, "a"); got != 1 {
		t.Errorf("alone and without a heartbeat: %d names", got)
	}
}

// A look at Redis has the heartbeats that count, of the nodes that are alive.
func TestLook(t *testing.T) {
	keys, err := aggregator.ParseSigningKeys(aggregator.NewSigningKey([32]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	signed, old, forged := beat("a", "1", 0, 1), beat("b", "2", -Fresh, 1), beat("c", "3", 0, 1)
	s := State{Now: at(0), Changes: 7, News: []News{
		{signed.Field(), signed.EncodeSigned(keys, "ns"), true}, {old.Field(), old.EncodeSigned(keys, "ns"), true}, came(forged),
		{"d/4", signed.EncodeSigned(keys, "ns"), true}, {"a/0", "", false}, {"e/5", beat("e", "5", 0, 1).EncodeSigned(keys, "ns"), false},
	}}
	for _, required := range []bool{false, true} {
		got := s.WholeList(func(field, value string) (aggregator.Heartbeat, bool, bool) {
			h, signed, ok := aggregator.VerifyHeartbeat(keys, "ns", field, value)
			return h, signed, ok && (signed || !required)
		})
		var names string
		for _, h := range got.Alive {
			names += fmt.Sprint(h.Node, h.Signed, " ")
		}
		if want := map[bool]string{false: "atrue cfalse ", true: "atrue "}[required]; names != want || got.Changes != 7 || !got.Now.Equal(at(0)) || got.Unsent {
			t.Errorf("required %v: %s, want %s", required, names, want)
		}
	}
}
