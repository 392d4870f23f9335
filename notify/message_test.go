package notify

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard"
	"edgeguard/internal/words"
)

var (
	start = time.Date(2026, 1, 2, 12, 1, 0, 0, time.UTC)
	names = Names{Node: "edge-1", Run: "0a1b2c3d", Epoch: func(t time.Time) time.Time { return t }, Unit: func(rule, origin string) words.Measure {
		return words.Measure{Each: 4, One: "attempt", Many: "attempts"}
	}}
)

func block(i int, rule string, at time.Time) *edgeguard.Block {
	addr := netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
	return &edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: rule, Origin: "edge-1", Count: 1121, Limit: 100, Since: at, Until: at.Add(10 * time.Minute)}
}

// TestTexts holds the sentences that people read.
func TestTexts(t *testing.T) {
	d := Desk{Names: names, Receiver: "team", Every: time.Minute}
	one := block(7, "login", start)
	d.Block(start, one, "")
	check := func(b *Batch, want ...string) {
		t.Helper()
		if b == nil {
			t.Fatalf("nothing, want %q", want)
		}
		if got := strings.Split(b.Text, "\n"); !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", b.Text, strings.Join(want, "\n"))
		}
	}
	check(d.NextBatch(start, nil, true, false), "192.0.0.7 is blocked until 12:11 UTC by rule login: 280.3 attempts, limit 25")
	manual := &edgeguard.Block{Prefix: netip.MustParsePrefix("2001:db8::/48"), Rule: edgeguard.ManualRule, Reason: "asked by the bank", Origin: "edge-2", Since: start, Until: edgeguard.Forever}
	d.Block(start, manual, "")
	banned := block(9, edgeguard.OwnerRule("fail2ban"), start)
	banned.Count, banned.Limit, banned.Until = 0, 0, start.Add(48*time.Hour)
	d.Block(start, banned, "")
	if d.NextBatch(start.Add(59*time.Second), nil, true, false) != nil {
		t.Error("a second message within a minute")
	}
	check(d.NextBatch(start.Add(time.Minute), nil, true, true),
		"2001:db8::/48 would be blocked (mode: monitor) until it is taken back by an operator: asked by the bank, on node edge-2",
		"192.0.0.9 would be blocked (mode: monitor) until 2026-01-04 12:01 UTC by fail2ban")
	for i := range 1204 {
		rule := "login"
		if i%10 == 0 {
			rule = "site"
		}
		d.Block(start.Add(61*time.Second), block(i, rule, start), "")
	}
	check(d.NextBatch(start.Add(2*time.Minute), nil, true, false), "1,204 blocks since 12:02 UTC, the most by rule login (1,083), such as 192.0.0.0, 192.0.0.1, 192.0.0.2, 192.0.0.3, 192.0.0.4")
	for i := range 6 { // attacks, and one block of none
		d.Block(start.Add(2*time.Minute), block(i, "login", start), []string{"", "login_192.0.0.0_20260102T120100Z"}[min(i, 1)])
	}
	check(d.NextBatch(start.Add(3*time.Minute), nil, true, false), "6 attacks and blocks since 12:03 UTC, the most by rule login (6), such as 192.0.0.0, 192.0.0.1, 192.0.0.2, 192.0.0.3, 192.0.0.4")
	d.Block(start.Add(4*time.Minute), one, "login_192.0.0.0_20260102T120100Z")
	denied := &edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Rule: "search", Since: start}
	d.Block(start.Add(4*time.Minute), denied, "search_198.51.100.0_20260102T120100Z")
	named := d.NextBatch(start.Add(4*time.Minute), nil, true, false)
	check(named, "192.0.0.7 is blocked until 12:11 UTC by rule login: 280.3 attempts, limit 25; attack login_192.0.0.0_20260102T120100Z",
		"198.51.100.0/24 is refused what matches rule search; attack search_198.51.100.0_20260102T120100Z")
	if m := named.Messages[0]; m.Kind != "attack" || m.Fields.Attack != "login_192.0.0.0_20260102T120100Z" || named.Messages[1].Fields.Until != "" {
		t.Errorf("%+v", named.Messages)
	}
	for i := range 7 {
		d.Block(start.Add(5*time.Minute), block(i, "login", start), "login_192.0.0.0_20260102T120100Z")
	}
	check(d.NextBatch(start.Add(5*time.Minute), nil, true, false), "7 attacks since 12:06 UTC, the most by rule login (7), such as 192.0.0.0, 192.0.0.1, 192.0.0.2, 192.0.0.3, 192.0.0.4")
	log := Condition{Kind: "log", About: "/var/log/x", Text: "it cannot be read (try 3)", Since: start}
	held := Condition{Kind: "fleet_held", Text: "3 blocks of edge-2 wait", Since: start, Confirm: true}
	check(d.NextBatch(start.Add(7*time.Minute), []Condition{log, held}, true, false), "Alarm log: it cannot be read (try 3)", "Awaits confirmation: 3 blocks of edge-2 wait")
	log.Text = "it cannot be read (try 4)"
	if d.NextBatch(start.Add(9*time.Minute), []Condition{log, held}, true, false) != nil {
		t.Error("a figure that changed is told")
	}
	if d.NextBatch(start.Add(9*time.Minute), nil, false, false) != nil {
		t.Error("told while the node ends")
	}
	check(d.NextBatch(start.Add(9*time.Minute), nil, true, false), "Nothing of this awaits confirmation any more: fleet_held", "Alarm log about /var/log/x has ended, after 9m")
}

// TestForm holds the documented form.
func TestForm(t *testing.T) {
	d := Desk{Names: names, Receiver: "team", Every: time.Minute}
	d.Block(start, block(7, "login", start), "")
	made, err := d.NextBatch(start, nil, true, false).JSON()
	const want = `{"type":"edgeguard.notification","version":1,"id":"msg_0a1b2c3d_team_1","timestamp":"2026-01-02T12:01:00Z","node":"edge-1",` +
		`"text":"192.0.0.7 is blocked until 12:11 UTC by rule login: 280.3 attempts, limit 25","dropped":0,"messages":[{"id":"msg_0a1b2c3d_team_1_1","time":"2026-01-02T12:01:00Z","node":"edge-1",` +
		`"kind":"block","text":"192.0.0.7 is blocked until 12:11 UTC by rule login: 280.3 attempts, limit 25","fields":{"prefix":"192.0.0.7","rule":"login","origin":"edge-1","count":1121,"limit":100,"unit":{"each":4,"one":"attempt","many":"attempts"},"until":"2026-01-02T12:11:00Z"}}]}`
	if err != nil || string(made) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, made, want)
	}
}

// TestHarmless: what a client writes mentions nobody, links nowhere, and is bounded.
func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"host=<!channel>":                  "host=‹!channel›",
		"<!here|x> <@U123> <!subteam^S1>":  "‹!here|x› ‹＠U123› ‹!subteam^S1›",
		"@everyone @here @room <@&1>":      "＠everyone ＠here ＠room ‹＠&1›",
		"<https://evil.example/|click me>": "‹https:∕∕evil.example/|click me›",
		"[click me](https://evil.example)": "[click me] (https:∕∕evil.example)",
		"a\x1b[31m\u202eb\nc":              "a?[31m?b c",
		"`code` & \"quotes\"":              "'code' & \"quotes\"",
	} {
		if got := harmless(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	long := harmless(strings.Repeat("客", 10_000))
	if len(long) > MostText || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes", len(long))
	}
	if got := harmless(strings.Repeat("\x80", 10_000)); len(got) > 4*MostText {
		t.Errorf("%d bytes of invalid text", len(got))
	}
}

// FuzzHarmless: no text keeps a character by which a chat mentions or links.
func FuzzHarmless(f *testing.F) {
	for _, seed := range []string{"<!channel>", "@everyone", "[a](b)", "]\x00(", "://", ":/\u200b/", "]\u202e(", ":\t//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := harmless(text)
		if strings.ContainsAny(got, "<>@`\n\r\x1b\x00") || strings.Contains(got, "](") || strings.Contains(got, "://") || !utf8.ValidString(got) || len(got) > 4*MostText {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestFields: every text of a message is harmless, whatever the parts of it were.
func TestFields(t *testing.T) {
	const evil = "<!channel> @everyone [a](http://b)\x1b"
	hostile := Names{Node: evil, Run: "r", Epoch: names.Epoch}
	d := Desk{Names: hostile, Receiver: "team", Every: time.Minute}
	for i := range 2 * mostExamples {
		b := block(i, evil, start)
		b.Reason, b.Origin, b.Limit = evil, evil, uint32(i%2)
		d.Block(start, b, "")
		if i == 1 || i == 2*mostExamples-1 {
			made, err := d.NextBatch(start.Add(time.Duration(i)*time.Hour), []Condition{{Kind: fmt.Sprint("k", i), About: evil, Text: evil, Since: start}}, true, i > 1).JSON()
			var plain any
			if err != nil || json.Unmarshal(made, &plain) != nil {
				t.Fatal(err)
			}
			walk(t, plain)
		}
	}
}

// walk checks each text of a JSON value.
func walk(t *testing.T, value any) {
	switch v := value.(type) {
	case string:
		if strings.ContainsAny(v, "<>@\x1b") || strings.Contains(v, "](") || strings.Contains(v, "://") {
			t.Errorf("%q", v)
		}
	case []any:
		for _, one := range v {
			walk(t, one)
		}
	case map[string]any:
		for _, one := range v {
			walk(t, one)
		}
	}
}

// naive is a receiver that keeps everything: it looks at all blocks and at all that was
// told to find out what is due.
type naive struct {
	blocks             []edgeguard.Block
	blocksAt, alarmsAt time.Time
	told               []string
}

func (n *naive) next(now time.Time, active []Condition, known bool) (blocks map[string]int, examples, began, ended []string) {
	subjects := func() (all []string) {
		for _, c := range active {
			all = append(all, c.Kind+" "+c.About)
		}
		return all
	}()
	if known && (n.alarmsAt.IsZero() || now.Sub(n.alarmsAt) >= time.Minute) {
		for _, s := range subjects {
			if !slices.Contains(n.told, s) {
				began = append(began, s)
			}
		}
		for _, s := range n.told {
			if !slices.Contains(subjects, s) {
				ended = append(ended, s)
			}
		}
		if len(began)+len(ended) > 0 {
			n.alarmsAt, n.told = now, subjects
		}
	}
	if len(n.blocks) > 0 && (n.blocksAt.IsZero() || now.Sub(n.blocksAt) >= time.Minute) {
		blocks = map[string]int{}
		for i, b := range n.blocks {
			blocks[b.Rule]++
			if i < mostExamples {
				examples = append(examples, b.Prefix.Addr().String())
			}
		}
		n.blocks, n.blocksAt = nil, now
	}
	return blocks, examples, began, ended
}

// TestDeskAgainstNaive compares what is sent with what a receiver that keeps everything
// would have been sent, over random floods.
func TestDeskAgainstNaive(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		d, n := Desk{Names: names, Receiver: "team", Every: time.Minute}, naive{}
		now := start
		for range 300 {
			now = now.Add(time.Duration(random.IntN(40_000)) * time.Millisecond)
			for i := range random.IntN(1 + random.IntN(30)) {
				b := block(i, fmt.Sprint("rule", random.IntN(4)), now)
				d.Block(now, b, "")
				n.blocks = append(n.blocks, *b)
			}
			var active []Condition
			for i := range 12 {
				if random.IntN(3) > 0 {
					active = append(active, Condition{Kind: "log", About: fmt.Sprint(i), Text: fmt.Sprint("figure ", random.IntN(99)), Since: now})
				}
			}
			known := random.IntN(5) > 0
			blocks, examples, began, ended := n.next(now, active, known)
			got := d.NextBatch(now, active, known, false)
			compare(t, got, blocks, examples, began, ended)
			if t.Failed() {
				t.Fatalf("seed %d at %v", seed, now.Sub(start))
			}
		}
	}
}

// compare checks a batch against what it has to say.
func compare(t *testing.T, b *Batch, blocks map[string]int, examples, began, ended []string) {
	t.Helper()
	gotBlocks, gotExamples := map[string]int{}, []string(nil)
	var gotBegan, gotEnded []string
	if b != nil {
		for _, m := range b.Messages {
			about := m.Fields.Alarm + " " + m.Fields.About
			switch m.Kind {
			case kindBlock:
				gotBlocks[m.Fields.Rule]++
				gotExamples = append(gotExamples, m.Fields.Prefix)
			case kindSummary:
				for _, r := range m.Fields.Rules {
					gotBlocks[r.Rule] = r.Blocks
				}
				gotExamples = m.Fields.Examples
			case kindAlarm:
				gotBegan = append(gotBegan, about)
			case kindEnded:
				gotEnded = append(gotEnded, about)
			}
		}
	}
	slices.Sort(began)
	slices.Sort(ended)
	slices.Sort(gotBegan)
	slices.Sort(gotEnded)
	if fmt.Sprint(blocks) != fmt.Sprint(gotBlocks) || !slices.Equal(examples, gotExamples) || !slices.Equal(began, gotBegan) || !slices.Equal(ended, gotEnded) {
		t.Errorf("blocks %v, want %v; examples %v, want %v; began %v, want %v; ended %v, want %v", gotBlocks, blocks, gotExamples, examples, gotBegan, began, gotEnded, ended)
	}
}

// TestDropped: what a batch told that did not arrive is told again as far as it is still
// so, and the receiver learns how much it missed.
func TestDropped(t *testing.T) {
	d := Desk{Names: names, Receiver: "team", Every: time.Minute}
	a, b := Condition{Kind: "log", About: "a", Text: "x", Since: start}, Condition{Kind: "log", About: "b", Text: "x", Since: start}
	for i := range 10 {
		d.Block(start, block(i, "login", start), "")
	}
	first := d.NextBatch(start, []Condition{a, b}, true, false)
	if lost := d.GiveUp(first); lost != 12 {
		t.Errorf("%d lost, want 12", lost)
	}
	second := d.NextBatch(start.Add(time.Minute), []Condition{b}, true, false)
	if second == nil || second.Dropped != 12 || second.Text != "Alarm log: x" || second.ID == first.ID {
		t.Fatalf("%+v", second)
	}
	d.Arrived()
	third := d.NextBatch(start.Add(2*time.Minute), nil, true, false)
	if third == nil || third.Dropped != 0 || third.Messages[0].Kind != kindEnded {
		t.Fatalf("%+v", third)
	}
	if d.GiveUp(third); d.NextBatch(start.Add(3*time.Minute), nil, true, false) == nil {
		t.Error("the end that did not arrive is not told again")
	}
}

// TestManyAlarms: a batch is bounded, and says how many more there are.
func TestManyAlarms(t *testing.T) {
	d := Desk{Names: names, Receiver: "team", Every: time.Minute}
	var all []Condition
	for i := range 256 {
		all = append(all, Condition{Kind: "log", About: fmt.Sprint(i), Text: strings.Repeat("x", 5000), Since: start})
	}
	b := d.NextBatch(start, all, true, false)
	if n := len(b.Messages); n != mostConditions+1 || b.Messages[n-1].Fields.Began != 236 || len(b.Text) > 20_000 {
		t.Errorf("%d messages, the last %+v, %d bytes", n, b.Messages[n-1].Fields, len(b.Text))
	}
	if d.NextBatch(start.Add(time.Hour), all, true, false) != nil {
		t.Error("told twice")
	}
}

// TestEvents: an event that happens again and again is told once, until it was quiet.
func TestEvents(t *testing.T) {
	d, e := Desk{Names: names, Receiver: "team", Every: time.Minute}, Events{}
	told := 0
	for minute := range 30 {
		now := start.Add(time.Duration(minute) * time.Minute)
		var seen []Seen
		if minute < 10 || minute > 20 {
			seen = []Seen{{Condition{Kind: "wide", About: "login", Text: fmt.Sprint("address ", string(rune('a'+minute))), Since: now}, now}}
		}
		if b := d.NextBatch(now, e.Active(now, seen), true, false); b != nil {
			told += len(b.Messages)
		}
	}
	if told != 2 {
		t.Errorf("told %d times, want 2", told)
	}
}

// TestActivity: rules that make blocks are conditions, in bounded memory.
func TestActivity(t *testing.T) {
	var a Activity
	for i := range 1000 {
		a.Add(start, block(i, fmt.Sprint("rule", i), start))
		a.Add(start.Add(time.Minute), block(i, "login", start))
	}
	active := a.Active(start.Add(holdEvent), &names)
	if len(active) != 1 || len(a.rules) != 1 || active[0].Text != "1,000 blocks by rule login since 12:02 UTC, such as 192.0.0.0" {
		t.Errorf("%+v", active)
	}
	if left := a.Active(start.Add(time.Hour), &names); len(left) != 0 || len(a.rules) != 0 {
		t.Errorf("%+v", left)
	}
}

// BenchmarkBlock is what telling a receiver of a block costs who decides.
func BenchmarkBlock(b *testing.B) {
	d := Desk{Names: names, Receiver: "team", Every: time.Minute}
	one := block(7, "login", start)
	b.ReportAllocs()
	for b.Loop() {
		d.Block(start, one, "")
	}
}
