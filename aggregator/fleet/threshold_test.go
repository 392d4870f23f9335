package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func thresholdsSample() ThresholdRecord {
	return ThresholdRecord{Rule: "site", Meter: "00ff", Base: 2000, Threshold: 800, At: 1_790_000_000_123, Node: "edge-1", By: `token "ops-1"`, Note: `<it's "so"> \ ü`}
}

// What is written is read back to the same, also at its greatest.
func TestRecordReadsBack(t *testing.T) {
	greatest := thresholdsSample()
	greatest.Rule, greatest.Meter, greatest.Node = strings.Repeat("r", 64), strings.Repeat("f", 64), strings.Repeat("n", 100)
	greatest.By, greatest.Note, greatest.Forced, greatest.At = strings.Repeat(`"`, MaxText), strings.Repeat(`\`, MaxText), true, latest
	undo := thresholdsSample()
	undo.Threshold, undo.By, undo.Note = 0, "", ""
	for _, r := range []ThresholdRecord{thresholdsSample(), greatest, undo, ending(), onlyReports()} {
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeThreshold(text); err != nil || again != r {
			t.Errorf("%s: read back as %+v, %v", text, again, err)
		}
	}
}

// ending returns a record with an end, onlyReports one with no threshold.
func ending() ThresholdRecord {
	r := thresholdsSample()
	r.Shadow, r.Until = true, r.At+3_600_000
	return r
}

func onlyReports() ThresholdRecord {
	r := thresholdsSample()
	r.Threshold, r.Shadow = 0, true
	return r
}

// A record that nodes of the first format know is written as they write it; they leave another
// alone, as it says a later one.
func TestFormats(t *testing.T) {
	first := thresholdsSample()
	first.Note = ""
	text, _ := first.Encode()
	if want := `{"format":1,"rule":"site","meter":"00ff","base":2000,"threshold":800,"at":1790000000123,"node":"edge-1","by":"token \"ops-1\""}`; text != want {
		t.Errorf("written as\n%s, want\n%s", text, want)
	}
	for _, r := range []ThresholdRecord{ending(), onlyReports()} {
		if text, _ := r.Encode(); !strings.HasPrefix(text, `{"format":2,`) {
			t.Errorf("written as %s", text)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, _ := thresholdsSample().Encode()
	ends, _ := ending().Encode()
	for name, text := range map[string]string{
		"nothing":            "",
		"no object":          "[]",
		"another format":     strings.Replace(good, `"format":1`, `"format":0`, 1),
		"an unknown field":   strings.Replace(good, `"base"`, `"bass"`, 1),
		"no rule":            strings.Replace(good, `"site"`, `""`, 1),
		"no meter":           strings.Replace(good, `"00ff"`, `""`, 1),
		"no node":            strings.Replace(good, `"edge-1"`, `""`, 1),
		"no base":            strings.Replace(good, `2000`, `0`, 1),
		"no time":            strings.Replace(good, `1790000000123`, `0`, 1),
		"a time past all":    strings.Replace(good, `1790000000123`, `1790000000123000`, 1),
		"a negative one":     strings.Replace(good, `800`, `-800`, 1),
		"the config's":       strings.Replace(good, `800`, `2000`, 1),
		"control characters": strings.Replace(good, `it's`, `it\u001b`, 1),
		"a long note":        strings.Replace(good, `it's`, strings.Repeat("n", MaxText), 1),
		"too long":           good + strings.Repeat(" ", MaxThresholdRecord),

		"an end in the first format":   strings.Replace(ends, `"format":2`, `"format":1`, 1),
		"the later format for nothing": strings.Replace(good, `"format":1`, `"format":2`, 1),
		"an end before all":            strings.Replace(ends, `"until":17`, `"until":-17`, 1),
		"an end past all":              strings.Replace(ends, `"until":1790003600123`, `"until":1790003600123000`, 1),
		"an undo with an end":          strings.NewReplacer(`"threshold":800,`, "", `"shadow":true,`, "").Replace(ends),
	} {
		if text == good || text == ends {
			t.Fatalf("%s: nothing is changed", name)
		}
		if r, err := DecodeThreshold(text); err == nil {
			t.Errorf("%s: read as %+v", name, r)
		}
	}
	if _, err := DecodeThreshold(strings.Replace(good, `"format":1`, `"format":3,"else":3`, 1)); !errors.Is(err, ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
	if _, err := (ThresholdRecord{Rule: "site"}).Encode(); err == nil {
		t.Error("written without a node")
	}
}

func FuzzDecode(f *testing.F) {
	good, _ := thresholdsSample().Encode()
	f.Add(good)
	ends, _ := ending().Encode()
	f.Add(ends)
	f.Add(`{"format":2}`)
	f.Add(`{"format":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := DecodeThreshold(text)
		if err != nil {
			return
		}
		again, err := r.Encode()
		if err != nil {
			return // escaped, it may be longer than it was
		}
		if back, err := DecodeThreshold(again); err != nil || back != r {
			t.Errorf("%q is read as %+v, written as %q and read as %+v, %v", text, r, again, back, err)
		}
	})
}

// draw returns some records of few rules, many of one millisecond.
func draw(r *rand.Rand) []ThresholdRecord {
	var all []ThresholdRecord
	for range 1 + r.IntN(12) {
		all = append(all, ThresholdRecord{
			Rule: []string{"site", "login"}[r.IntN(2)], Meter: []string{"aa", "bb"}[r.IntN(2)], Base: 2000, Threshold: uint32(r.IntN(4)),
			Shadow: r.IntN(2) == 0, Until: int64(r.IntN(2)), Forced: r.IntN(2) == 0, At: int64(1 + r.IntN(3)), Node: fmt.Sprint("edge-", r.IntN(2)), Note: fmt.Sprint(r.IntN(2)),
		})
	}
	return all
}

// latestOf is the twin: the record that no other is later than.
func latestOf(all []ThresholdRecord, rule string) (last *ThresholdRecord) {
	for i := range all {
		if r := &all[i]; r.Rule == rule && (last == nil || compareThresholds(last, r) < 0) {
			last = r
		}
	}
	return last
}

// In whatever order records arrive, and how often, all nodes know the same last one.
func TestAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		all := draw(r)
		for range 3 {
			var b ThresholdBook
			for _, i := range append(r.Perm(len(all)), r.IntN(len(all))) {
				b = b.WithRecord(all[i], r.IntN(3) == 0, 0.5)
			}
			for _, rule := range []string{"site", "login"} {
				want := latestOf(all, rule)
				got, known := b.EntryOf(rule)
				if known != (want != nil) || known && got.ThresholdRecord != *want {
					t.Fatalf("%+v: rule %s is %+v, want %+v", all, rule, got.ThresholdRecord, want)
				}
			}
		}
	}
}

// While a record waits, what decided before decides; a later one that does not wait
// ends that, and an earlier one changes nothing.
func TestHeld(t *testing.T) {
	at := func(ms int64, threshold uint32) ThresholdRecord {
		r := thresholdsSample()
		r.At, r.Threshold = ms, threshold
		return r
	}
	decides := func(b ThresholdBook) uint32 {
		e, _ := b.EntryOf("site")
		if r := e.Decides(); r != nil {
			return r.Threshold
		}
		return 0
	}
	b := ThresholdBook{}.WithRecord(at(1, 100), true, 0.3)
	if e, _ := b.EntryOf("site"); decides(b) != 0 || !e.Held || e.Share != 0.3 {
		t.Errorf("held: %+v", e)
	}
	b = b.WithRecord(at(2, 900), false, 0)
	b = b.WithRecord(at(3, 800), true, 0.4)
	b = b.WithRecord(at(4, 700), true, 0.5)
	if decides(b) != 900 {
		t.Errorf("two wait: %d decides", decides(b))
	}
	if same := b.WithRecord(at(3, 600), false, 0); !reflect.DeepEqual(same, b) {
		t.Error("an earlier record changes something")
	}
	if undone := b.WithRecord(at(5, 0), true, 0.5); decides(undone) != 900 {
		t.Errorf("an undo that waits: %d decides", decides(undone))
	}
	if undone := b.WithRecord(at(5, 0), false, 0); decides(undone) != 0 {
		t.Errorf("undone: %d decides", decides(undone))
	}
	text, err := b.FileText()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseThresholdBook(text); err != nil || !reflect.DeepEqual(again, b) {
		t.Errorf("read back as %+v, %v\n%s", again, err, text)
	}
}

// What has an end decides until then, and nothing does after it: neither the record that it
// replaced nor what waits. A clock that was ahead and is right again has it decide again.
func TestEnds(t *testing.T) {
	end := time.UnixMilli(ending().Until)
	decides := func(b ThresholdBook) int64 {
		e, _ := b.EntryOf("site")
		if r := e.Decides(); r != nil {
			return r.At
		}
		return 0
	}
	forever, later := thresholdsSample(), thresholdsSample()
	forever.At--
	later.At, later.Threshold = ending().At+1, 700
	inForce := func(string) bool { return true }
	plain, _ := ThresholdBook{}.WithRecord(forever, false, 0).WithRecord(ending(), false, 0).Marked(inForce)
	held, _ := ThresholdBook{}.WithRecord(forever, false, 0).WithRecord(ending(), true, 0.3).Marked(inForce)
	before, _ := ThresholdBook{}.WithRecord(ending(), false, 0).WithRecord(later, true, 0.3).Marked(inForce)
	for name, row := range map[string]struct {
		book    ThresholdBook
		decided int64
	}{"it decides": {plain, ending().At}, "it waits": {held, forever.At}, "another waits": {before, ending().At}} {
		if _, ended, changed := row.book.WithEnds(end.Add(-time.Millisecond)); changed || ended != nil || decides(row.book) != row.decided {
			t.Errorf("%s: before its end %v, %v, decides %d", name, changed, ended, decides(row.book))
		}
		over, ended, changed := row.book.WithEnds(end)
		if !changed || len(ended) != 1 || ended[0].Decides().At != row.decided || decides(over) != 0 {
			t.Errorf("%s: at its end %v, %+v, decides %d", name, changed, ended, decides(over))
		}
		e, _ := over.EntryOf("site")
		if waits := name == "another waits"; e.Waits() != waits || e.Idle() == waits {
			t.Errorf("%s: after its end %+v", name, e)
		}
		text, _ := over.FileText()
		again, err := ParseThresholdBook(text)
		if err != nil || !reflect.DeepEqual(again, over) {
			t.Errorf("%s: read back as %+v, %v", name, again, err)
		}
		over, _ = over.Marked(func(string) bool { return false })
		if again, ended, changed := over.WithEnds(end.Add(time.Hour)); changed || ended != nil {
			t.Errorf("%s: it ends twice: %+v, %v", name, again, ended)
		}
	}
	over, _, _ := plain.WithEnds(end)
	if back, _, changed := over.WithEnds(end.Add(-time.Minute)); !changed || decides(back) != ending().At {
		t.Errorf("by a clock that is right again: %v, %d decides", changed, decides(back))
	}
	year := end.Add(thresholdsKept)
	if n, m := len(over.Without(year).Entries()), len(over.Without(year.Add(time.Second)).Entries()); n != 1 || m != 0 {
		t.Errorf("a year after its end %d and then %d are kept, want 1 and 0", n, m)
	}
	odd, err := ParseThresholdBook([]byte(`{"rules": [{"rule": "site", "meter": "a", "base": 1, "shadow": true, "until": 5, "at": 1, "node": "n", "held": true, "in_force": true}]}`))
	if _, ended, changed := odd.WithEnds(end); err != nil || !changed || ended != nil {
		t.Errorf("a file that says of what waits that it is in force: %v, %v, %v", ended, changed, err)
	}
}

func TestBook(t *testing.T) {
	undo := thresholdsSample()
	undo.Rule, undo.Threshold = "login", 0
	b := ThresholdBook{}.WithRecord(thresholdsSample(), false, 0).WithRecord(undo, false, 0)
	if all := b.Entries(); len(all) != 2 || all[0].Rule != "login" || all[1].Rule != "site" {
		t.Errorf("%+v", all)
	}
	year := time.UnixMilli(undo.At).Add(thresholdsKept)
	if n, m := len(b.Without(year).Entries()), len(b.Without(year.Add(time.Second)).Entries()); n != 2 || m != 1 {
		t.Errorf("after a year %d and then %d are kept, want 2 and 1", n, m)
	}
	inForce := func(rule string) bool { return rule == "site" }
	marked, changed := b.Marked(inForce)
	if e, _ := marked.EntryOf("site"); !changed || !e.InForce {
		t.Errorf("marked %+v, %v", e, changed)
	}
	if _, changed := marked.Marked(inForce); changed {
		t.Error("marked twice")
	}
	if e, _ := marked.WithRecord(undo, false, 0).EntryOf("login"); e.InForce {
		t.Errorf("%+v", e)
	}
	text, _ := b.FileText()
	for name, text := range map[string]string{
		"nothing":          "",
		"an unknown field": strings.Replace(string(text), `"base"`, `"bass"`, 1),
		"a bad record":     strings.Replace(string(text), `2000`, `0`, 1),
		"a rule twice":     strings.Replace(string(text), `"login"`, `"site"`, 1),
		"another before":   strings.Replace(string(text), `"rule": "site"`, `"rule": "site", "before": {"rule": "login"}`, 1),
	} {
		if b, err := ParseThresholdBook([]byte(text)); err == nil {
			t.Errorf("%s: read as %+v", name, b)
		}
	}
}

// A record that follows another is later, whatever the clock says.
func TestNext(t *testing.T) {
	last := thresholdsSample()
	for _, now := range []time.Time{time.UnixMilli(1), time.UnixMilli(last.At), time.UnixMilli(last.At + 5)} {
		if at := NextThreshold(now, &last); at <= last.At || at < now.UnixMilli() {
			t.Errorf("at %v: %d", now, at)
		}
	}
	if at := NextThreshold(time.UnixMilli(7), nil); at != 7 {
		t.Errorf("the first: %d", at)
	}
}
