package fleet

import (
	"fmt"
	"reflect"
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

func said([]aggregator.Span) Figures { return sample() }

// What a node writes is read back, rounded, and short also where all is at its most.
func TestEncode(t *testing.T) {
	want := sample()
	want.At, want.Refused, want.Memory = figuresEpoch.UnixMilli(), 12.3, 0.457
	if got, ok := parseFigures(sample().Encode(figuresEpoch)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, ok)
	}
	want.Attacks = strings.Repeat("\n", mostAttacks) // each is escaped
	if got, ok := parseFigures(want.Encode(figuresEpoch)); !ok || !reflect.DeepEqual(got, want) {
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
	b := NewBoard(said)
	due := func(after time.Duration, want bool, names ...string) {
		t.Helper()
		f, got := b.FiguresToWrite(figuresEpoch.Add(after), "a", alive(names...))
		if got != want || got && !reflect.DeepEqual(f, sample()) {
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
	b := NewBoard(said)
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
	b := NewBoard(said)
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

// aDay is the last hours of a busy node: as many steps, rules and figures as there may be.
func aDay(step int, rule string, requests uint64) SpanFigures {
	s := SpanFigures{Span: aggregator.Span{Step: step, Length: aggregator.MostSpanSteps}, End: 30_000_000}
	for range s.Length {
		m := StepFigures{uint64(step), requests, requests}
		for range spanRules {
			m = append(m, requests)
		}
		s.Steps = append(s.Steps, &m)
	}
	for i := range spanRules {
		s.Rules = append(s.Rules, fmt.Sprint(rule, i))
	}
	return s
}

// A span is read back, with what was not measured. Where all are too long for one text they lose their
// last rules, and never their requests.
func TestSpansAreSaid(t *testing.T) {
	f := sample()
	f.Spans = []SpanFigures{{Span: aggregator.Span{Step: 15, Length: 96}, End: 30_000_000, Steps: []*StepFigures{nil, {15, 7, 0}, {3, 9, 5, 0, 5}}, Rules: []string{"login", "search"}}}
	if got, ok := parseFigures(f.Encode(figuresEpoch)); !ok || !reflect.DeepEqual(got.Spans, f.Spans) {
		t.Errorf("%v, %+v", ok, got.Spans)
	}
	for name, spans := range map[string][]SpanFigures{
		"busy":            {aDay(1, "web/scripts-and-more-", 10_000), aDay(5, "search", 50_000), aDay(15, "login", 150_000)},
		"odd names":       {aDay(1, strings.Repeat("<", ruleLength-1), 1_000)},
		"all at its most": {aDay(24*60, strings.Repeat("x", ruleLength-1), mostAMinute*24*60)},
	} {
		f.Spans = spans
		text := f.Encode(figuresEpoch)
		got, ok := parseFigures(text)
		if !ok || len(text) > mostOfSpans+200 || len(got.Spans) != len(spans) {
			t.Errorf("%s: %v, %d bytes, %d of %d spans", name, ok, len(text), len(got.Spans), len(spans))
			continue
		}
		for i := range spans {
			if len(got.Spans[i].Steps) != aggregator.MostSpanSteps || !slices.Equal((*got.Spans[i].Steps[7])[:stepTotals], (*spans[i].Steps[7])[:stepTotals]) || len(*spans[i].Steps[7]) != stepTotals+spanRules {
				t.Errorf("%s: %v of %v", name, *got.Spans[i].Steps[7], *spans[i].Steps[7])
			}
		}
	}
}

// A span that no node writes is refused.
func TestHostileSpans(t *testing.T) {
	good := sample().Encode(figuresEpoch)
	with := func(spans string) bool {
		_, ok := parseFigures(good[:len(good)-1] + `,"spans":` + spans + "}")
		return ok
	}
	for name, span := range map[string]string{
		"many steps":          `{"step":1,"length":2,"end":9,"steps":[[1,1,1],[1,1,1],[1,1,1]]}`,
		"a long span":         `{"step":1,"length":102,"end":9,"steps":[]}`,
		"no length":           `{"step":1,"end":9,"steps":[]}`,
		"no step":             `{"length":1,"end":9,"steps":[]}`,
		"a step below zero":   `{"step":-1,"length":1,"end":9,"steps":[]}`,
		"a long step":         `{"step":1441,"length":1,"end":9,"steps":[]}`,
		"many rules":          `{"step":1,"length":1,"end":9,"steps":[],"rules":["a","b","c","d","e","f","g","h","i"]}`,
		"more than its rules": `{"step":1,"length":1,"end":9,"steps":[[1,1,1,1]]}`,
		"too few figures":     `{"step":1,"length":1,"end":9,"steps":[[1,1]]}`,
		"no figures":          `{"step":1,"length":1,"end":9,"steps":[[]]}`,
		"below zero":          `{"step":1,"length":1,"end":9,"steps":[[1,-1,1]]}`,
		"too many":            `{"step":1,"length":1,"end":9,"steps":[[1,1,1000000000001]]}`,
		"many minutes":        `{"step":5,"length":1,"end":9,"steps":[[6,1,1]]}`,
		"a long name":         `{"step":1,"length":1,"end":9,"steps":[],"rules":["` + strings.Repeat("x", 65) + `"]}`,
		"an empty name":       `{"step":1,"length":1,"end":9,"steps":[],"rules":[""]}`,
		"a control character": `{"step":1,"length":1,"end":9,"steps":[],"rules":["\u001b[31m"]}`,
		"before 1970":         `{"step":1,"length":1,"end":-1,"steps":[]}`,
		"no end":              `{"step":1,"length":1,"end":9223372036854775807,"steps":[]}`,
		"a text":              `"now"`,
		"nothing":             `null,null,null,null`,
	} {
		if with("[" + span + "]") {
			t.Errorf("%s: accepted", name)
		}
	}
	one := `{"step":5,"length":2,"end":9,"steps":[null,[5,1,1]]}`
	if !with("["+one+"]") || with("["+strings.Repeat(one+",", aggregator.MostSpans)+one+"]") {
		t.Error("a good one is refused, or more than a node may ask for are not")
	}
}

// A node says the spans that others ask for, those that each looked at last first; in a large fleet
// none: who looks reads those of all.
func TestAskedSpans(t *testing.T) {
	var said []aggregator.Span
	b := NewBoard(func(asked []aggregator.Span) Figures { said = asked; return Figures{} })
	span := func(step int) aggregator.Span { return aggregator.Span{Step: step, Length: 60} }
	for i := range 5 {
		b.KnownFigures(figuresEpoch.Add(time.Duration(i)*time.Second), "edge-a", boot, span(1+i), span(9))
	}
	if got := b.AskedSpans(figuresEpoch.Add(5 * time.Second)); !slices.Equal(got, []aggregator.Span{span(9), span(5), span(4)}) {
		t.Errorf("it asks for %v", got)
	}
	if got := b.AskedSpans(figuresEpoch.Add(lookFor + 3*time.Second)); !slices.Equal(got, []aggregator.Span{span(9), span(5)}) {
		t.Errorf("half a minute later it asks for %v", got)
	}
	var none *Board
	if none.AskedSpans(figuresEpoch) != nil {
		t.Error("a node without a board asks")
	}
	beats := []aggregator.Heartbeat{
		{Node: "edge-a", Looks: true, Spans: []aggregator.Span{span(7)}},
		{Node: "edge-b", Looks: true, Spans: []aggregator.Span{span(1), span(2), span(3)}},
		{Node: "edge-c", Looks: true, Spans: []aggregator.Span{span(1), span(4)}},
	}
	for i, want := range [][]aggregator.Span{{span(1), span(2), span(4)}, nil} {
		if _, due := b.FiguresToWrite(figuresEpoch.Add(time.Duration(i)*time.Minute), "edge-a", beats); !due || !slices.Equal(said, want) {
			t.Errorf("%d nodes: %v, %v", len(beats), due, said)
		}
		for len(beats) <= spanNodes {
			beats = append(beats, aggregator.Heartbeat{Node: fmt.Sprint("edge-", len(beats))})
		}
	}
	for _, want := range []int{0, 3} { // a large fleet, and one that is no more
		b.NodesToRead(figuresEpoch, "edge-a", beats)
		if got := b.AskedSpans(figuresEpoch.Add(5 * time.Second)); len(got) != want {
			t.Errorf("of %d nodes it asks for %v", len(beats), got)
		}
		beats = beats[:3]
	}
}
