package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator"
)

var figuresEpoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const boot = "0123456789abcdef"

func sample() Figures {
	return Figures{Boot: boot, Blocks: 7, Refused: 12.34, Memory: 0.4567, Alarms: 2, Rules: "fedcba9876543210"}
}

// What a node writes is read back, rounded, and short also where all is at its most.
func TestEncode(t *testing.T) {
	want := sample()
	want.At, want.Refused, want.Memory = figuresEpoch.UnixMilli(), 12.3, 0.457
	if got, ok := parseFigures(sample().Encode(figuresEpoch)); !ok || got != want {
		t.Errorf("%+v, %v", got, ok)
	}
	want.Attacks = strings.Repeat("\n", mostAttacks) // each is escaped
	if got, ok := parseFigures(want.Encode(figuresEpoch)); !ok || got != want {
		t.Errorf("with attacks: %v", ok)
	}
	want.Attacks = strings.Repeat("<", mostAttacks) // six bytes each: no node would read it
	if got, ok := parseFigures(want.Encode(figuresEpoch)); !ok || got.Attacks != "" || got.Blocks != want.Blocks {
		t.Errorf("with attacks that are too long: %v, %+v", ok, got)
	}
	most := Figures{Boot: boot, Blocks: 1<<32 - 1, Refused: 1e300, Memory: 1e300, Alarms: 1<<16 - 1, Rules: boot}
	text := most.Encode(time.UnixMilli(1<<43 + 12345))
	if got, ok := parseFigures(text); !ok || got.Refused != mostRefused || got.Memory != mostMemory || len(text)+51 > 200 {
		t.Errorf("%d bytes: %+v, %v", len(text), got, ok)
	}
}

// What no node writes is refused, whoever wrote it.
func TestParse(t *testing.T) {
	good := sample().Encode(figuresEpoch)
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "{", "null": "null", "a list": "[]", "a number": "1", "no fields": "{}",
		"too long":            good[:len(good)-1] + `,"more":"` + strings.Repeat("x", MostFigures) + `"}`,
		"a megabyte":          strings.Repeat("x", 1<<20),
		"blocks below 0":      strings.Replace(good, `"blocks":7`, `"blocks":-7`, 1),
		"many blocks":         strings.Replace(good, `"blocks":7`, `"blocks":4294967296`, 1),
		"refused below 0":     strings.Replace(good, `"refused":12.3`, `"refused":-0.1`, 1),
		"refused without end": strings.Replace(good, `"refused":12.3`, `"refused":1e99`, 1),
		"not a number":        strings.Replace(good, `"refused":12.3`, `"refused":NaN`, 1),
		"memory below 0":      strings.Replace(good, `"memory":0.457`, `"memory":-1`, 1),
		"much memory":         strings.Replace(good, `"memory":0.457`, `"memory":101`, 1),
		"many alarms":         strings.Replace(good, `"alarms":2`, `"alarms":65536`, 1),
		"markup":              strings.Replace(good, "fedcba9876543210", "<script>alert(1)", 1),
		"invalid UTF-8":       strings.Replace(good, "fedcba9876543210", "\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe\xff\xfe", 1),
		"upper case":          strings.Replace(good, "fedcba9876543210", "FEDCBA9876543210", 1),
		"a long digest":       strings.Replace(good, "fedcba9876543210", "fedcba98765432100", 1),
		"many attacks":        strings.Replace(good, `"blocks":7`, `"attacks":"`+strings.Repeat("x", mostAttacks+1)+`"`, 1),
		"no digest":           strings.Replace(good, "fedcba9876543210", "", 1),
		"another boot":        strings.Replace(good, boot, "edge-1", 1),
		"two texts":           good + good,
	} {
		if _, ok := parseFigures(text); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	if f, ok := parseFigures(strings.Replace(good, "{", `{"later":{"a":[1]},`, 1)); !ok || f.Blocks != 7 {
		t.Errorf("a field of a later version: %+v, %v", f, ok)
	}
}

func alive(names ...string) (all []aggregator.Heartbeat) {
	for _, name := range names {
		name, looks := strings.CutSuffix(name, "*")
		all = append(all, aggregator.Heartbeat{Node: name, Boot: boot, Looks: looks})
	}
	return all
}

// A node writes its figures while another looks, and no more often however it is asked.
func TestDue(t *testing.T) {
	b := NewBoard(sample)
	due := func(after time.Duration, want bool, names ...string) {
		t.Helper()
		f, got := b.FiguresToWrite(figuresEpoch.Add(after), "a", alive(names...))
		if got != want || got && f != sample() {
			t.Errorf("after %v, %v: %v %+v", after, names, got, f)
		}
	}
	due(0, false, "a", "b", "c")
	due(0, false, "a*", "b", "c") // it looks itself
	due(time.Second, true, "a", "b*", "c")
	due(time.Second, false, "a", "b*", "c*")
	due(time.Second+figuresEvery-1, false, "a", "b*")
	due(time.Second+figuresEvery, true, "a", "b*")
	due(2*figuresEvery, false, "a", "b")
	due(time.Minute, true, "a", "b*")
}

// A node reads the others' figures for half a minute after somebody looked, by their
// names, and not for a minute after what somebody else wrote.
func TestFiguresAsks(t *testing.T) {
	b := NewBoard(sample)
	asks := func(after time.Duration, want string, names ...string) {
		t.Helper()
		if got := strings.Join(b.NodesToRead(figuresEpoch.Add(after), "a", alive(names...)), " "); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
	asks(0, "", "a", "b", "c")
	if b.Looks(figuresEpoch) {
		t.Error("it looks before anybody did")
	}
	b.KnownFigures(figuresEpoch, "a", boot)
	asks(0, "b c", "a", "b", "b", "c")
	asks(lookFor-1, "b", "a", "b")
	asks(lookFor, "", "a", "b")
	if !b.Looks(figuresEpoch.Add(lookFor-1)) || b.Looks(figuresEpoch.Add(lookFor)) {
		t.Error("it does not look for half a minute")
	}
	b.KnownFigures(figuresEpoch.Add(time.Minute), "a", boot)
	b.Pause(figuresEpoch.Add(time.Minute))
	b.KnownFigures(figuresEpoch.Add(time.Minute+pause-1), "a", boot)
	asks(time.Minute+pause-1, "", "a", "b")
	asks(time.Minute+pause, "b", "a", "b")
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf("n%04d", i))
	}
	if got := b.NodesToRead(figuresEpoch.Add(time.Minute+pause), "a", alive(many...)); len(got) != MostNodes {
		t.Errorf("%d nodes are asked", len(got))
	}
	var none *Board
	if none.Looks(figuresEpoch) {
		t.Error("a node without a board looks")
	}
}

// What is shown is fresh, and this node's own is first.
func TestSaid(t *testing.T) {
	b := NewBoard(sample)
	said := func(after time.Duration, want string) {
		t.Helper()
		var got []string
		for _, s := range b.KnownFigures(figuresEpoch.Add(after), "a", boot) {
			got = append(got, fmt.Sprintf("%s/%d/%v/%v", s.Node, s.Blocks, figuresEpoch.Add(after).Sub(s.LastSeen), s.Signed))
		}
		if shown := strings.Join(got, " "); shown != want {
			t.Errorf("after %v: %s, want %s", after, shown, want)
		}
	}
	redis := figuresEpoch.Add(time.Hour) // its clock
	take := func(node string, at time.Duration, blocks uint32, signed bool) {
		f := sample()
		f.Blocks = blocks
		b.TakeFigures(figuresEpoch, redis, node, f.Encode(redis.Add(at)), signed)
	}
	take("c", -3*time.Second, 1, false)
	take("b", 0, 2, true)
	take("old", -FiguresFresh, 3, true)
	take("early", FiguresFresh, 4, true)
	take("late", FiguresFresh-time.Second, 5, true)
	b.TakeFigures(figuresEpoch, redis, "wrong", "{}", true)
	said(0, "a/7/0s/true b/2/0s/true c/1/3s/false late/5/0s/true")
	take("b", -time.Second, 6, false)
	said(time.Second, "a/7/0s/true b/6/2s/false c/1/4s/false late/5/1s/true")
	said(FiguresFresh-3*time.Second, "a/7/0s/true b/6/18s/false late/5/17s/true")
	said(FiguresFresh, "a/7/0s/true")
	if names := b.KnownFigures(figuresEpoch, "z", boot); !slices.Equal([]string{"z"}, []string{names[0].Node}) || names[0].Boot != boot {
		t.Errorf("%+v", names)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Encode(figuresEpoch))
	f.Add(`{"boot":"` + boot + `","rules":"` + boot + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseFigures(text)
		if !ok {
			return
		}
		again, ok := parseFigures(got.Encode(time.UnixMilli(got.At)))
		if !ok && got.At > -1<<50 && got.At < 1<<50 || ok && again.Blocks != got.Blocks {
			t.Errorf("%q: %+v, %+v %v", text, got, again, ok)
		}
	})
}

// anHour is the hour of a busy node: as many minutes, rules and figures as there may be.
func anHour(rule string, requests uint64) *Hour {
	h := &Hour{Until: 30_000_000}
	for range hourLength {
		m := HourMinute{requests, requests}
		for range hourRules {
			m = append(m, requests)
		}
		h.Minutes = append(h.Minutes, &m)
	}
	for i := range hourRules {
		h.Rules = append(h.Rules, fmt.Sprint(rule, i))
	}
	return h
}

// An hour is read back, with what was not measured; one that is too long is left out, and the other
// figures stay.
func TestHourIsSaid(t *testing.T) {
	f := sample()
	f.Hour = &Hour{Until: 30_000_000, Minutes: []*HourMinute{nil, {7, 0}, {9, 5, 0, 5}}, Rules: []string{"login", "search"}}
	got, ok := parseFigures(f.Encode(figuresEpoch))
	if !ok || got.Hour == nil || len(got.Hour.Minutes) != 3 || got.Hour.Minutes[0] != nil || !slices.Equal(*got.Hour.Minutes[2], HourMinute{9, 5, 0, 5}) || !slices.Equal(got.Hour.Rules, f.Hour.Rules) {
		t.Errorf("%v, %+v", ok, got.Hour)
	}
	f.Hour = anHour("web/scripts-and-more-", 1_000_000)
	if text := f.Encode(figuresEpoch); len(text) > mostHour {
		t.Errorf("%d bytes of a busy node", len(text))
	} else if got, ok := parseFigures(text); !ok || got.Hour == nil {
		t.Errorf("%v: a busy node has no hour in %d bytes", ok, len(text))
	}
	f.Hour = anHour(strings.Repeat("x", ruleLength-1), mostAMinute)
	text := f.Encode(figuresEpoch)
	if got, ok := parseFigures(text); !ok || got.Hour != nil || got.Blocks != f.Blocks || len(text) > 200 {
		t.Errorf("%v: %d bytes with an hour that is too long", ok, len(text))
	}
}

// An hour that no node writes is refused.
func TestHostileHour(t *testing.T) {
	good := sample().Encode(figuresEpoch)
	for name, hour := range map[string]string{
		"many minutes":        `{"until":1,"minutes":[` + strings.Repeat("[1,1],", hourLength) + `[1,1]]}`,
		"many rules":          `{"until":1,"minutes":[],"rules":["a","b","c","d","e","f","g","h","i"]}`,
		"more than its rules": `{"until":1,"minutes":[[1,1,1]]}`,
		"too few figures":     `{"until":1,"minutes":[[1]]}`,
		"no figures":          `{"until":1,"minutes":[[]]}`,
		"below zero":          `{"until":1,"minutes":[[-1,1]]}`,
		"too many":            `{"until":1,"minutes":[[1,1000000000001]]}`,
		"a long name":         `{"until":1,"minutes":[],"rules":["` + strings.Repeat("x", 65) + `"]}`,
		"an empty name":       `{"until":1,"minutes":[],"rules":[""]}`,
		"a control character": `{"until":1,"minutes":[],"rules":["\u001b[31m"]}`,
		"before 1970":         `{"until":-1,"minutes":[]}`,
		"no end":              `{"until":9223372036854775807,"minutes":[]}`,
		"a text":              `"now"`,
	} {
		if _, ok := parseFigures(good[:len(good)-1] + `,"hour":` + hour + "}"); ok {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, ok := parseFigures(good[:len(good)-1] + `,"hour":{"until":1,"minutes":[null,[1,1]]}}`); !ok {
		t.Error("a good one is refused")
	}
}

// In a large fleet nobody says his hour: who looks reads those of all.
func TestHourInLargeFleet(t *testing.T) {
	b := NewBoard(func() Figures { return Figures{Hour: &Hour{}} })
	alive := []aggregator.Heartbeat{{Node: "edge-b", Looks: true}}
	for len(alive) <= hourNodes {
		f, due := b.FiguresToWrite(figuresEpoch.Add(time.Duration(len(alive))*time.Minute), "edge-a", alive)
		if !due || f.Hour == nil {
			t.Fatalf("%d nodes: %v, %+v", len(alive), due, f)
		}
		alive = append(alive, aggregator.Heartbeat{Node: fmt.Sprint("edge-", len(alive))})
	}
	if f, due := b.FiguresToWrite(figuresEpoch.Add(time.Hour*24), "edge-a", alive); !due || f.Hour != nil {
		t.Errorf("%d nodes: %v, %+v", len(alive), due, f)
	}
}
