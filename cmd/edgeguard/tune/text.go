package tune

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/replay"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// Text writes findings for people.
type Text struct {
	Out    io.Writer
	Colour bool
}

// Distribution shows how high the counts went, and who led.
func (t Text) Distribution(f *Found) {
	fmt.Fprintf(t.Out, "\nmost %s of %s in %s:\n", f.Tally.Unit.Many, words.Plural(f.Tally.Peaks.Total(), "key", "keys"), words.Span(f.Meter.Window))
	t.histogram(&f.Tally.Peaks, f.Meter)
	if n := f.Normal; n != nil {
		fmt.Fprintf(t.Out, "\non the normal day, of %s (the highest that does not look hostile: %s):\n", words.Plural(n.Tally.Peaks.Total(), "key", "keys"), n.Tally.Unit.Amount(n.Highest))
		t.histogram(&n.Tally.Peaks, f.Meter)
	}
	fmt.Fprintf(t.Out, "\nhighest:\n")
	for i := range f.Leaders {
		t.leader(&f.Leaders[i], f.Tally.Unit.Amount(f.Leaders[i].Peak.Peak))
	}
}

// looks are the words for what a key looks like.
var looks = map[tuning.Looks]string{tuning.Hostile: "looks hostile: ", tuning.Benign: "looks benign: "}

// leader shows one key: its count, why it looks as it does, and what it did. Text of
// the log is quoted, and cleaned as [output.Table] cleans it.
func (t Text) leader(l *topKey, amount string) {
	name := safetext.Strip(l.Key.String())
	if l.Looks == tuning.Hostile {
		name = output.Paint(output.Red, name, t.Colour)
	}
	fmt.Fprintf(t.Out, "  %9s  %s", amount, name)
	if l.Record == nil {
		fmt.Fprintln(t.Out)
		return
	}
	fmt.Fprintf(t.Out, "  %s%s\n", looks[l.Looks], l.Why)
	t.record(l.Record)
	t.neighbours(l)
}

// detail indents what belongs to a leader.
const detail = "             "

func (t Text) record(r *evidence.Record) {
	fmt.Fprintf(t.Out, detail+"%s from %s for %s; 4xx %s, assets %s\n", words.Plural(r.Requests, "request", "requests"), words.Instant(r.First),
		words.Length(r.Last.Sub(r.First).Round(time.Second)), words.Percent(r.Errors, r.Requests), words.Percent(r.Assets, r.Requests))
	t.often("asks for ", common(r.Paths(), r.Requests), 3)
	if agents := r.Agents(); len(agents) > 0 {
		t.often("says ", common(agents, r.Requests), 1)
	}
}

// common leaves out what came so seldom that it says nothing; if that is all, it is nil.
func common(all []evidence.Often, of uint32) (out []evidence.Often) {
	for _, o := range all {
		if uint64(o.N)*50 >= uint64(of) {
			out = append(out, o)
		}
	}
	return out
}

// often shows texts with how many times they came, at least.
func (t Text) often(lead string, all []evidence.Often, most int) {
	var parts []string
	for _, o := range output.First(all, most) {
		parts = append(parts, quote(o))
	}
	if len(parts) == 0 {
		parts = []string{"many things, none of them often"}
	}
	fmt.Fprintln(t.Out, detail+lead+strings.Join(parts, ", "))
}

// quote writes a text of a log with its number, so that a terminal acts on none of it
// and its ends are seen.
func quote(o evidence.Often) string {
	sure := ""
	if !o.Sure {
		sure = "at least "
	}
	return fmt.Sprintf("\"%s\" (%s%s)", strings.ReplaceAll(safetext.Strip(o.Text), `"`, `'`), sure, words.Number(o.N))
}

func (t Text) neighbours(l *topKey) {
	if len(l.Neighbours) == 0 {
		return
	}
	var parts []string
	for _, n := range output.First(l.Neighbours, 3) {
		parts = append(parts, fmt.Sprintf("%s (%s)", output.Prefix(n.Prefix), words.Number(n.Requests)))
	}
	more := ""
	if left := len(l.Neighbours) - len(parts); left > 0 {
		more = " and " + words.Number(left) + " more"
	}
	fmt.Fprintf(t.Out, detail+"neighbours in %s: %s%s\n", l.Network, strings.Join(parts, ", "), more)
}

// Thresholds shows what each threshold would have done.
func (t Text) Thresholds(f *Found) {
	fmt.Fprintln(t.Out)
	table := &output.Table{}
	table.Numbers(output.Plain, "  "+f.Tally.Unit.Many)
	table.Numbers(output.Faint, "threshold")
	table.Numbers(output.Plain, "keys over", "of keys", f.Meter.Events()+" over", "of all")
	if f.Normal != nil {
		table.Numbers(output.Plain, "normal day")
	}
	table.Texts(output.Faint, "")
	for _, o := range f.Outcomes() {
		row := []string{"  " + words.Number(o.Limit/f.Tally.Unit.Each), words.Number(o.Threshold), words.Number(o.Keys), words.PercentShare(o.KeyShare), words.Number(o.Events), words.PercentShare(o.EventShare)}
		if f.Normal != nil {
			row = append(row, words.Number(f.NormalKeys(o.Threshold)))
		}
		table.Row(append(row, f.note(o.Threshold))...)
	}
	table.Print(t.Out, t.Colour)
}

// Suggestion shows what is suggested, and why.
func (t Text) Suggestion(f *Found) {
	s := &f.Suggestion
	if s.Threshold == 0 {
		fmt.Fprintf(t.Out, "\nno suggestion: %s\n", s.Reason)
		return
	}
	says := fmt.Sprintf("%s in %s (threshold %s)", f.Tally.Unit.Allowed(s.Limit), words.Span(f.Meter.Window), words.Number(s.Threshold))
	if s.Keep {
		says = "keep " + says
	}
	fmt.Fprintf(t.Out, "\nsuggestion: %s\n  %s\n", output.Paint(output.Bold, says, t.Colour), s.Reason)
	if checked := f.Checked(); checked != "" {
		fmt.Fprintf(t.Out, "  %s\n", checked)
	}
}

// Key shows one address: what it did, and how high it counted under each rule.
func (t Text) Key(r *replay.Report, book *evidence.Book, addr netip.Addr) {
	in := evidence.Prefix(addr)
	l := leader(tuning.Peak{Key: keyOf(in)}, book)
	fmt.Fprintf(t.Out, "\n%s", output.Prefix(in))
	if l.Record == nil {
		fmt.Fprintf(t.Out, ": nothing is known of it; it made no request, or others made more and the log has more than %s addresses\n", words.Number(evidence.MaxRecords))
		return
	}
	fmt.Fprintf(t.Out, "  %s%s\n", looks[l.Looks], l.Why)
	t.record(l.Record)
	t.neighbours(&l)
	for i := range r.Rules {
		t.count(&r.Rules[i], in)
	}
}

// count shows how high an address counted under a rule.
func (t Text) count(rr *replay.RuleReport, in netip.Prefix) {
	p, known := peakOf(rr, in)
	allowed := rr.Tally.Unit.Allowed(rr.Rule.Limit) + " in " + words.Span(rr.Meter.Window)
	switch {
	case known && p.Peak > rr.Rule.Limit:
		fmt.Fprintf(t.Out, "  rule %s: at most %s, %s\n", rr.Rule.Name, rr.Tally.Unit.Amount(p.Peak), output.Paint(output.Red, "over the limit of "+allowed, t.Colour))
	case known:
		fmt.Fprintf(t.Out, "  rule %s: at most %s of %s\n", rr.Rule.Name, rr.Tally.Unit.Amount(p.Peak), allowed)
	case rr.Tally.Peaks.Total() > tuning.DefaultTop:
		fmt.Fprintf(t.Out, "  rule %s: not among the %s highest\n", rr.Rule.Name, words.Number(tuning.DefaultTop))
	default:
		fmt.Fprintf(t.Out, "  rule %s: not counted\n", rr.Rule.Name)
	}
}
