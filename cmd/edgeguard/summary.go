package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/replay"
)

// sortOffenders puts the offenders of several rules in the order of time.
func sortOffenders(all []replay.Offender) {
	slices.SortStableFunc(all, func(a, b replay.Offender) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Rule, b.Rule))
	})
}

// limitRows cuts a table to n rows; 0 leaves all.
func limitRows[T any](rows []T, n int) []T {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// distinct counts the keys that some rule did this to.
func distinct(r *replay.Report, action edgeguard.Action) int {
	keys := make(map[edgeguard.Key]bool)
	for i := range r.Rules {
		for _, o := range r.Rules[i].Offenders {
			if o.Action == action {
				keys[o.Key] = true
			}
		}
	}
	return len(keys)
}

// addedUp counts the offenders whose first crossing no node saw alone.
func addedUp(r *replay.Report) (n int) {
	for i := range r.Rules {
		for _, o := range r.Rules[i].Offenders {
			if o.Fleet {
				n++
			}
		}
	}
	return n
}

// summarySentence says in a sentence what the rules would have done.
func summarySentence(r *replay.Report) string {
	var parts []string
	if n := distinct(r, edgeguard.ActionBlock); n > 0 {
		part := plural(n, "address", "addresses") + " would have been blocked"
		if together := addedUp(r); together > 0 {
			part += ", " + number(together) + " of them seen first by adding nodes up"
		}
		parts = append(parts, part)
	}
	if n := distinct(r, edgeguard.ActionDeny); n > 0 {
		parts = append(parts, plural(n, "key", "keys")+" refused over a limit")
	}
	if n := distinct(r, edgeguard.ActionShadow); n > 0 {
		parts = append(parts, plural(n, "key", "keys")+" only reported (shadow)")
	}
	if n := distinct(r, edgeguard.ActionAlarm); n > 0 {
		parts = append(parts, plural(n, "key", "keys")+" alarmed, not blocked: the evidence can be forged, or the address must not be blocked")
	}
	sentence := strings.Join(parts, "; ") + "."
	if r.Denied > 0 {
		sentence += fmt.Sprintf(" %s of %s events (%s) would have been refused.", number(r.Denied), number(r.Events), percent(r.Denied, r.Events))
	}
	return sentence
}

// highest finds the key that came nearest to a limit.
func highest(r *replay.Report) (key edgeguard.Key, peak uint32, ok bool) {
	for i := range r.Rules {
		if top := r.Rules[i].Tally.Top.Sorted(); len(top) > 0 && top[0].Peak > peak {
			key, peak, ok = top[0].Key, top[0].Peak, true
		}
	}
	return key, peak, ok
}

// printNobody says that no limit was crossed, and what to do next.
func (j *job) printNobody(r *replay.Report) {
	out := j.env.stdout
	if r.Events == 0 {
		fmt.Fprintf(out, "\nThere was nothing to count.\n")
		return
	}
	fmt.Fprintf(out, "\nNobody went over a limit.")
	if key, peak, ok := highest(r); ok {
		fmt.Fprintf(out, " The highest count was %s, of %s.", number(peak), key)
	} else {
		fmt.Fprintf(out, " No rule matched an event.")
	}
	fmt.Fprintf(out, "\n`edgeguard tune %s` shows what other thresholds would have done.\n", j.inputs[0].name)
}

// printWarnings shows what was passed over, so that nothing is lost unseen.
func (j *job) printWarnings(r *replay.Report) {
	out := j.env.stderr
	for _, in := range j.inputs {
		s := in.status()
		if s.warning != "" {
			fmt.Fprintf(out, "warning: %s: %s\n", in.name, s.warning)
		}
		if s.skipped == 0 {
			continue
		}
		fmt.Fprintf(out, "warning: %s: %s skipped", in.name, number(s.skipped))
		if len(s.first) > 0 {
			fmt.Fprintf(out, ", the first:\n  %s", strings.Join(limitRows(s.first, 3), "\n  "))
		}
		fmt.Fprintln(out)
	}
	if r.Late > 0 {
		fmt.Fprintf(out, "warning: %s older than the window when they came, and not counted", plural(r.Late, "event was", "events were"))
		if !j.settings.sort {
			fmt.Fprint(out, "; --sort orders all events first")
		}
		fmt.Fprintln(out)
	}
	if r.Evicted > 0 {
		fmt.Fprintf(out, "warning: the memory was full and %s forgotten; counts may have been higher: raise `memory` in the config\n", plural(r.Evicted, "key was", "keys were"))
	}
}
