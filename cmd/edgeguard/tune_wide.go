package main

import (
	"fmt"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
	"edgeguard/replay"
)

// printWide shows how high the IPv6 networks around a rule's keys went, beside
// what the rule allows them.
func (j *job) printWide(rr *replay.RuleReport) {
	out := j.env.Stdout
	t := &output.Table{}
	t.Texts(output.Plain, "  network")
	t.Numbers(output.Plain, "highest count")
	t.Numbers(output.Faint, "allowed")
	t.Texts(output.Faint, "then")
	rows := 0
	for _, w := range rr.Wide {
		if w.Peak == 0 {
			continue
		}
		rows++
		t.Row("  "+w.Key.String(), rr.Tally.Unit.Amount(w.Peak), fmt.Sprintf("%s (%d × the limit)", words.Number(w.Limit/rr.Tally.Unit.Each), w.Times), w.ActionName())
	}
	if rows == 0 {
		return
	}
	fmt.Fprintf(out, "\nhighest IPv6 networks (each key in them counts up to the limit):\n")
	t.Print(out, j.env.Colour)
}
