package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// Rules returns the command rules.
func Rules(p *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "rules [NAME…]",
		Short: "List the rules of a running node, and what their candidates would have done",
		Long: `rules lists the rules that are in force, with what their keys count now: how many
keys there are, how many are near the limit (at 80 % or more of it) or over it, and
how many blocks are the rule's. Below are the candidates: how many events were over
each one's limit, and how often a key exceeded it.`,
		Example: `  edgeguard rules
  edgeguard rules login --json`,
		Args: cobra.ArbitraryArgs,
	}
	p.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, names []string) error {
		seen, err := lookAtRules(ctx, node, names)
		return command.ShowAll(p, seen, err, drawRules)
	})
}

// ruleJSON is a rule with what its keys count now.
type ruleJSON struct {
	admin.Rule
	Keys uint64 `json:"keys"`
	// Near are at 80 % of the limit or more, and not over it.
	Near uint64 `json:"keys_near"`
	Over uint64 `json:"keys_over"`
	// Blocked is how many blocks are of the rule; AtLeast says that there may be more.
	Blocked int  `json:"blocked"`
	AtLeast bool `json:"blocked_at_least,omitempty"`
}

// lookAtRules asks a node for the rules of these names, or for all.
func lookAtRules(ctx context.Context, node *client.Client, names []string) ([]ruleJSON, error) {
	list, err := node.Rules(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(list.Rules, names)
	if err != nil {
		return nil, err
	}
	var seen []ruleJSON
	for _, r := range chosen {
		detail, err := node.Rule(ctx, r.Name)
		if err != nil {
			return nil, err
		}
		over, err := node.Outcome(ctx, r.Name, detail.Threshold)
		if err != nil {
			return nil, err
		}
		one := ruleJSON{Rule: detail.Rule, Keys: detail.Keys, Over: over.Keys, Near: near(detail.Histogram, detail.Limit, over.Keys)}
		if one.Blocked, one.AtLeast, err = node.CountBlocks(ctx, client.Filter{Rule: r.Name}); err != nil {
			return nil, err
		}
		seen = append(seen, one)
	}
	return seen, nil
}

// choose returns the rules of these names, or all without names.
func choose(all []admin.Rule, names []string) ([]admin.Rule, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []admin.Rule
	var known []string
	for _, r := range all {
		known = append(known, r.Name)
		if slices.Contains(names, r.Name) {
			chosen = append(chosen, r)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no rule %s: the node has %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// near returns how many keys count 80 % of the limit or more, without those over it.
func near(counts []admin.Bucket, limit uint32, over uint64) (n uint64) {
	for _, b := range counts {
		if uint64(b.High)*10 >= uint64(limit)*8 {
			n += b.Keys
		}
	}
	return n - min(n, over)
}

func drawRules(p *command.Env, all []ruleJSON) {
	if len(all) == 0 {
		fmt.Fprintln(p.Stdout, "the config has no rules")
		return
	}
	t := &output.Table{}
	t.Texts(output.Bold, "rule")
	t.Texts(output.Plain, "counts", "by")
	t.Numbers(output.Plain, "in", "threshold")
	t.Numbers(output.Faint, "limit")
	t.Texts(output.Plain, "action", "scope")
	t.Numbers(output.Plain, "keys")
	t.Numbers(output.Amber, "near")
	t.Numbers(output.Red, "over", "blocked")
	for i := range all {
		r := &all[i]
		t.Row(r.Name, counts(&r.Rule), r.Key, span(r.Window), threshold(&r.Rule), limit(&r.Rule), action(&r.Rule), scope(r.Scope),
			words.Number(r.Keys), some(r.Near), some(r.Over), some(uint64(r.Blocked)))
	}
	t.Print(p.Stdout, p.Colour)
	for i := range all {
		if l := all[i].Learned; l != nil {
			fmt.Fprintf(p.Stdout, "%s learns its threshold: %s\n", clean(l.Rule), l)
		}
	}
	var rules []admin.Rule
	for i := range all {
		rules = append(rules, all[i].Rule)
	}
	drawCandidates(p.Stdout, p.Colour, candidatesOf(rules))
}

// counts says what a rule counts.
func counts(r *admin.Rule) string {
	return cmp.Or(r.Unit.Many, r.Kind+"s")
}

// action says what a rule does over its limit.
func action(r *admin.Rule) string {
	if r.BlockFor == 0 {
		return r.Action
	}
	return r.Action + " " + span(r.BlockFor)
}

// threshold and limit are empty of a rule that has not learned them.
func threshold(r *admin.Rule) string {
	if r.Learned != nil && r.Learned.Pending {
		return ""
	}
	return words.Number(r.Threshold)
}

func limit(r *admin.Rule) string {
	if threshold(r) == "" {
		return "none yet"
	}
	return r.Unit.Amount(r.Limit)
}

// scope says whose counts a limit is for; a node alone has no choice.
func scope(scope string) string {
	if scope == "" {
		return "node"
	}
	return scope
}

// some writes a number, and nothing for 0.
func some(n uint64) string {
	if n == 0 {
		return ""
	}
	return words.Number(n)
}

func span(seconds int) string { return words.Span(time.Duration(seconds) * time.Second) }

// clean is a text of the node for the terminal.
func clean(text string) string { return safetext.Strip(text) }
