package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

func explainCommand(e *command.Env) *cobra.Command {
	var addr netip.Addr
	var rule string
	one := command.OneArgument("one address")
	c := &cobra.Command{
		Use:   "explain ADDRESS | --rule RULE [KEY]",
		Short: "Show why an address is blocked, or how close to a limit it is",
		Long: `explain shows the state of an address on a running node: its block, its count for
each rule beside the limit, the last window slot by slot, and its history.

With --rule it shows a key of a rule whose keys have no address, such as path=/login: as
attacks and top write it, and nothing where all is one key.`,
		Example: `  edgeguard explain 203.0.113.9
  edgeguard explain 2001:db8::1 --json
  edgeguard explain --rule logins-of-all path=/login`,
		Args: func(c *cobra.Command, args []string) error {
			if rule != "" {
				return nil
			}
			return one(c, args)
		},
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			if rule != "" {
				return nil
			}
			if addr, err = netip.ParseAddr(args[0]); err != nil {
				err = command.Usage(fmt.Errorf("explain: %q is not an address: use 203.0.113.9 or 2001:db8::1", args[0]))
			}
			return err
		},
	}
	e.JSONFlag(c, "print JSON")
	c.Flags().StringVar(&rule, "rule", "", "a key of the rule `RULE`, without an address")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		if rule != "" {
			x, err := node.ExplainKey(ctx, rule, strings.TrimPrefix(strings.Join(args, " "), "everybody "))
			return command.Show(e, x, err, printKey)
		}
		x, err := node.Explain(ctx, addr.Unmap().WithZone(""))
		return command.Show(e, x, err, printExplanation)
	})
}

// printKey shows a key without an address.
func printKey(e *command.Env, x *admin.KeyExplanation) {
	fmt.Fprintln(e.Stdout, safetext.Strip(x.Rule.Key))
	printRuleCount(e, &x.Rule)
	for i := range x.Crossings {
		if i == 0 {
			fmt.Fprintln(e.Stdout, "\ncrossings:")
		}
		fmt.Fprintf(e.Stdout, "  %s  %s\n", words.Instant(x.Crossings[i].Time), observe.Describe(&x.Crossings[i]))
	}
}

// printExplanation shows it to people.
func printExplanation(e *command.Env, x *admin.Explanation) {
	out := e.Stdout
	switch {
	case x.Block != nil:
		b := x.Block
		by := "rule " + b.Rule
		if b.Owner != "" {
			by = b.Owner
		}
		fmt.Fprintf(out, "%s is %s by %s", x.Address, output.Paint(output.Red, "blocked", e.Colour), safetext.Strip(by))
		if b.Limit > 0 {
			fmt.Fprintf(out, " (%s)", safetext.Strip(b.Unit.Beside(b.Count, b.Limit)))
		}
		fmt.Fprintf(out, " from %s until %s, %s remaining\n", words.Instant(b.Since), words.Instant(b.Until), words.Left(b.Until.Sub(x.Time)))
		if b.Reason != "" {
			fmt.Fprintf(out, "  prefix %s, reason: %s, made by %s\n", output.Prefix(b.Prefix), safetext.Strip(b.Reason), safetext.Strip(b.Origin))
		}
		if b.Imported {
			fmt.Fprintf(out, "  imported from the list %s, for this node only; to let it in: edgeguard allow add %s\n", safetext.Strip(b.Owner), x.Address)
		}
	case x.Because != "":
		fmt.Fprintf(out, "%s is %s: %s\n", x.Address, safetext.Strip(x.Standing), safetext.Strip(x.Because))
	case x.Standing == "none":
		fmt.Fprintf(out, "%s is not blocked\n", x.Address)
		printLastBlock(e, x)
	default:
		fmt.Fprintf(out, "%s is %s\n", x.Address, safetext.Strip(x.Standing))
	}
	var silent []string // rules for which nothing is counted: a line for all of them
	for i := range x.Rules {
		if r := &x.Rules[i]; silentRule(r) {
			silent = append(silent, safetext.Strip(r.Rule))
			continue
		}
		printRuleCount(e, &x.Rules[i])
	}
	if len(silent) > 0 {
		fmt.Fprintf(out, "\nnothing is counted now by: %s\n", strings.Join(silent, ", "))
	}
	if len(x.History) > 0 {
		fmt.Fprintln(out, "\nhistory:")
	}
	for i := range x.History {
		event := &x.History[i]
		fmt.Fprintf(out, "  %s  %s  %s\n", words.Instant(event.Time), safetext.Strip(event.Kind), observe.Describe(event))
	}
}

// printLastBlock says which block of an address was the last, and how it ended.
func printLastBlock(e *command.Env, x *admin.Explanation) {
	i := slices.IndexFunc(x.History, func(h admin.Event) bool { return h.Kind == admin.EventBlock })
	if i < 0 {
		return
	}
	b := x.History[i].Block
	over, how := b.Until, ""
	for _, later := range x.History[:i] {
		if later.Ended != nil && later.Block.Prefix == b.Prefix {
			over = later.Time
			how = fmt.Sprintf(", and %s refused here", words.Plural(later.Ended.Refused, "request was", "requests were"))
		}
	}
	fmt.Fprintf(e.Stdout, "  it was blocked by rule %s from %s until %s%s\n", safetext.Strip(b.Rule), words.Instant(b.Since), words.Instant(over), how)
}

// silentRule reports whether a rule says nothing of an address: neither it nor a network
// around it, nor the rest of the fleet, counts anything.
func silentRule(r *admin.RuleCount) bool {
	counts := func(w admin.WideCount) bool { return w.Count > 0 }
	return r.Count == 0 && r.Blocks == 0 && (r.Scope != "fleet" || r.Fleet != nil && r.Fleet.Count == 0) && !slices.ContainsFunc(r.Wide, counts)
}

// printRuleCount shows what the address counts for one rule.
func printRuleCount(e *command.Env, r *admin.RuleCount) {
	out := e.Stdout
	window := time.Duration(r.Window) * time.Second
	where := ""
	if r.Distinct != "" {
		where = ", each value where it was last seen"
	}
	limit := fmt.Sprintf("limit %s (threshold %s%s)", r.Unit.Amount(r.Limit), words.Number(r.Threshold), r.Unit.Note())
	if r.Learned != nil && r.Learned.Pending {
		limit = r.Learned.String()
	}
	fmt.Fprintf(out, "\nrule %s: %s in %s, %s: %s", safetext.Strip(r.Rule), safetext.Strip(r.Unit.Of(r.Count)), words.Span(window), limit, safetext.Strip(r.Does))
	if r.Asked {
		fmt.Fprint(out, " where a proxy asks, by answers")
	}
	if r.Scope == "fleet" {
		fmt.Fprint(out, ", counted on this node")
	}
	if r.Forgeable {
		fmt.Fprint(out, ", on evidence that can be forged: it raises an alarm and blocks no address")
	}
	fmt.Fprintln(out)
	if slices.ContainsFunc(r.Slots, func(n uint16) bool { return n > 0 }) {
		fmt.Fprintf(out, "  %s  one bar for %s, newest on the right%s\n", output.Paint(output.Amber, spark(r.Slots), e.Colour), words.Span(window/time.Duration(len(r.Slots))), where)
	}
	printFleetCount(e, r)
	if r.Under > 0 {
		fmt.Fprintf(out, "  under the limit in %s if no more events arrive\n", words.Span(time.Duration(r.Under)*time.Second))
	}
	for _, w := range r.Wide {
		fmt.Fprintf(out, "  its /%d, %s, counts %s of %s (%d times the limit, on this node): %s\n", w.Prefix.Bits(), w.Prefix, r.Unit.Amount(w.Count), r.Unit.Amount(w.Limit), w.Times, safetext.Strip(w.Action))
	}
	for _, c := range r.Candidates {
		over := "under"
		if c.Over {
			over = "over"
		}
		fmt.Fprintf(out, "  %s candidate %s (limit %s)\n", over, words.Number(c.Threshold), r.Unit.Amount(c.Limit))
	}
}

// printFleetCount prints the count of the whole fleet, and each node's part.
func printFleetCount(e *command.Env, r *admin.RuleCount) {
	const most = 8
	switch {
	case r.Fleet == nil && r.Scope == "fleet":
		fmt.Fprintln(e.Stdout, "  in the fleet: unknown, Redis did not answer")
	case r.Fleet != nil:
		fmt.Fprintf(e.Stdout, "  in the fleet: %s of %s (%s)", r.Unit.Amount(r.Fleet.Count), r.Unit.Amount(r.Limit), words.Percent(r.Fleet.Count, r.Limit))
		for i, n := range output.First(r.Fleet.Nodes, most) {
			fmt.Fprintf(e.Stdout, "%s %s %s", []string{":", ","}[min(i, 1)], safetext.Strip(n.Node), r.Unit.Amount(n.Count))
		}
		if left := len(r.Fleet.Nodes) - most; left > 0 {
			fmt.Fprintf(e.Stdout, " and %s more", words.Number(left))
		}
		fmt.Fprintln(e.Stdout)
	}
}

// spark draws slots as a line of bars.
func spark(slots []uint16) string {
	const bars = "▁▂▃▄▅▆▇█"
	marks := []rune(bars)
	most := uint16(1)
	for _, n := range slots {
		most = max(most, n)
	}
	var line strings.Builder
	for _, n := range slots {
		if n == 0 {
			line.WriteByte(' ')
			continue
		}
		line.WriteRune(marks[int(n)*(len(marks)-1)/int(most)])
	}
	return line.String()
}
