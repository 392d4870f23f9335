package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/frontdoor"
	"edgeguard/internal/words"
	"edgeguard/replay"
)

// sortOffenders puts the offenders of several rules in the order of time.
func sortOffenders(all []replay.Offender) {
	slices.SortStableFunc(all, func(a, b replay.Offender) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Rule, b.Rule))
	})
}

// outcome says in a word what came of a key's crossings.
func outcome(o *replay.Offender) string {
	switch {
	case o.Protected != "":
		return "protected"
	case o.FrontDoor != "" && o.Action == edgeguard.ActionAlarm:
		return "front door"
	}
	return o.Action.String()
}

// protectedKeys returns the keys over a limit that are protected, in their order.
func protectedKeys(r *replay.Report) []edgeguard.Key {
	return offenderKeys(r, func(o *replay.Offender) bool { return o.Protected != "" })
}

// wideKeys returns the wide networks that are only reported, in their order.
func wideKeys(r *replay.Report) []edgeguard.Key {
	return offenderKeys(r, func(o *replay.Offender) bool { return o.Action == edgeguard.ActionAlarm && o.Wide > 0 })
}

// firstKey names the first of some keys, if their rows were kept.
func firstKey(keys []edgeguard.Key) string {
	if len(keys) == 0 {
		return ""
	}
	return ": " + keys[0].String()
}

// offenderKeys returns the keys of the offenders for which pick is true, each once, in the
// order of the rules and of their first crossing.
func offenderKeys(r *replay.Report, pick func(*replay.Offender) bool) (keys []edgeguard.Key) {
	seen := make(map[edgeguard.Key]bool)
	for i := range r.Rules {
		for k := range r.Rules[i].Offenders {
			if o := &r.Rules[i].Offenders[k]; pick(o) && !seen[o.Key] {
				seen[o.Key] = true
				keys = append(keys, o.Key)
			}
		}
	}
	return keys
}

// about writes a number of keys, as an estimate where rows were dropped.
func about(r *replay.Report, n int, one, many string) string {
	if r.Keys.About {
		return "about " + words.Plural(n, one, many)
	}
	return words.Plural(n, one, many)
}

// summarySentence returns what the rules would have done, in a sentence.
func summarySentence(r *replay.Report) string {
	var parts []string
	k := &r.Keys
	if k.Blocked > 0 {
		part := about(r, k.Blocked, "address", "addresses") + " would have been blocked"
		if k.AddedUp > 0 {
			part += ", " + words.Number(k.AddedUp) + " of them found only by adding up the nodes"
		}
		parts = append(parts, part)
	}
	if k.Refused > 0 {
		parts = append(parts, about(r, k.Refused, "key", "keys")+" refused over a limit")
	}
	if k.Shadowed > 0 {
		parts = append(parts, about(r, k.Shadowed, "key", "keys")+" only reported (shadow)")
	}
	if k.Wide > 0 {
		parts = append(parts, about(r, k.Wide, "IPv6 network", "IPv6 networks")+" only reported"+firstKey(wideKeys(r)))
	}
	if k.FrontDoors > 0 {
		keys := offenderKeys(r, func(o *replay.Offender) bool { return o.FrontDoor != "" && o.Action == edgeguard.ActionAlarm })
		parts = append(parts, about(r, k.FrontDoors, "address", "addresses")+" would be blocked; looks like a front door"+firstKey(keys))
	}
	if n := k.Alarmed - k.Protected - k.Wide - k.FrontDoors; n > 0 {
		parts = append(parts, about(r, n, "key", "keys")+" raised an alarm only: the evidence can be forged, or the address must not be blocked")
	}
	switch {
	case k.Protected == 1:
		parts = append(parts, "1 address exceeded a limit but is protected and never blocked"+firstKey(protectedKeys(r)))
	case k.Protected > 1:
		part := about(r, k.Protected, "address", "addresses") + " exceeded a limit but are protected and never blocked"
		if keys := protectedKeys(r); len(keys) > 0 {
			part += firstKey(keys) + " and others"
		}
		parts = append(parts, part)
	}
	sentence := strings.Join(parts, "; ") + "."
	if r.Denied > 0 {
		sentence += fmt.Sprintf(" %s of %s events (%s) would have been refused.", words.Number(r.Denied), words.Number(r.Events), words.Percent(r.Denied, r.Events))
	}
	return sentence
}

// nearest says which key came nearest to a limit, and to which; nothing if none was counted.
func nearest(r *replay.Report) (says string) {
	best := 0.0
	for i := range r.Rules {
		rule, m := r.Rules[i].Rule, r.Rules[i].Meter
		top := r.Rules[i].Tally.Top.Sorted()
		if len(top) == 0 {
			continue
		}
		if share := float64(top[0].Peak) / float64(max(rule.Limit, 1)); share > best {
			best = share
			says = fmt.Sprintf(" %s came nearest to one: %s of %s in %s (rule %s).", top[0].Key,
				m.MeasureOf().Amount(top[0].Peak), m.MeasureOf().Of(rule.Limit), words.Span(m.Window), rule.Name)
		}
	}
	return says
}

// printNobody prints that no limit was crossed, and what to do next.
func (j *job) printNobody(r *replay.Report) {
	out := j.env.Stdout
	if r.Events == 0 {
		fmt.Fprintf(out, "\nNo events to count.\n")
		return
	}
	fmt.Fprintf(out, "\nNo address exceeded a limit.")
	says := nearest(r)
	if says == "" {
		fmt.Fprint(out, " No rule matched an event.\n")
		return
	}
	fmt.Fprintf(out, "%s\n`edgeguard tune %s` shows what other thresholds would have done.\n", says, j.inputs[0].name)
}

// printFloods prints the floods of sources that no rule can block.
func (j *job) printFloods(r *replay.Report) {
	for _, f := range r.Floods {
		fmt.Fprintf(j.env.Stdout, "\nSPOOFED FLOOD from %s to %s: %s fresh sources completed no handshake, at the peak %s a second (%s).\n"+
			"Their addresses are likely forged, or of reflectors: none is blocked for it. In a capture of one direction, a crowd of real clients looks the same.\n",
			words.Instant(f.Begin), words.Instant(f.End), words.Number(f.Sources), words.Number(f.Peak), words.Instant(f.PeakAt))
	}
}

// printWarnings prints what was skipped, so that no loss goes unnoticed.
func (j *job) printWarnings(r *replay.Report) {
	out := j.env.Stderr
	for _, in := range j.inputs {
		s := in.status()
		if s.warning != "" {
			fmt.Fprintf(out, "warning: %s: %s\n", in.name, s.warning)
		}
		if s.suppressed > 0 {
			fmt.Fprintf(out, "warning: %s: it says that %s\n", in.name, words.Suppressed(s.suppressed))
		}
		if s.skipped == 0 {
			continue
		}
		fmt.Fprintf(out, "warning: %s: %s skipped", in.name, words.Number(s.skipped))
		if len(s.first) > 0 {
			fmt.Fprintf(out, ", the first:\n  %s", strings.Join(output.First(s.first, 3), "\n  "))
		}
		fmt.Fprintln(out)
	}
	if r.FrontDoor != "" {
		fmt.Fprintf(out, "warning: the requests come from %s. %s\n", frontdoor.Whose(r.FrontDoor), frontdoor.Fix)
	}
	if r.Late > 0 {
		fmt.Fprintf(out, "warning: %s older than the window on arrival and not counted", words.Plural(r.Late, "event was", "events were"))
		if !j.settings.sort && j.order == orderKept {
			fmt.Fprint(out, "; --sort sorts all events first")
		}
		fmt.Fprintln(out)
	}
	if r.OutageLate > 0 {
		fmt.Fprintln(out, j.outageLate(r))
	}
	if r.BlocksEvicted > 0 {
		fmt.Fprintf(out, "warning: the block list was full and %s evicted, as on a live node: raise `max_blocks` or `memory` in the config\n",
			words.Plural(r.BlocksEvicted, "block was", "blocks were"))
	}
	if r.Evicted > 0 {
		fmt.Fprintf(out, "warning: memory was full and %s evicted, so counts may be too low: raise `memory` in the config\n", words.Plural(r.Evicted, "key was", "keys were"))
	}
}
