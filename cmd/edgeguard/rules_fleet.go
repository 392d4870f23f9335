package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/node/overlay"
)

// describeShared describes the thresholds of the whole fleet, a line for each; only
// those in force where that is asked for.
func describeShared(all []overlay.Shared, inForce bool) (lines []string) {
	for _, s := range all {
		f := &s.Fleet
		if inForce && !f.InForce {
			continue
		}
		line := fmt.Sprintf("rule %s: on the whole fleet, ", s.Rule)
		switch {
		case f.Threshold == 0:
			line += fmt.Sprintf("threshold %d again", f.Base)
		case f.Threshold == f.Base:
			line += "action " + f.Action
		default:
			line += fmt.Sprintf("threshold %d instead of %d", f.Threshold, f.Base)
			if f.Action != "" {
				line += ", action " + f.Action
			}
		}
		line += describeEnd(f.Until) + describeChange(config.Changed{Since: f.Since, By: f.By, Note: f.Note}) + ", set on " + f.Node
		switch {
		case f.Held:
			line += fmt.Sprintf("; it awaits confirmation here, because it would newly refuse %.0f %% of the requests", 100*f.Share)
		case f.Why != "":
			line += "; not in force here: " + f.Why
		}
		lines = append(lines, safetext.Strip(line))
	}
	return lines
}

// withShared returns what is in force of rules: the fleet's thresholds as well.
func withShared(all *overlaid) []config.RuleOverlay {
	rules := slices.Clone(all.rules)
	for _, s := range all.fleet {
		if !s.Fleet.InForce {
			continue
		}
		i := slices.IndexFunc(rules, func(r config.RuleOverlay) bool { return r.Name == s.Rule })
		if i < 0 {
			i, rules = len(rules), append(rules, config.RuleOverlay{Name: s.Rule})
		}
		if !rules[i].Decides() {
			if s.Fleet.Threshold != s.Fleet.Base {
				rules[i].Threshold, rules[i].Base = s.Fleet.Threshold, s.Fleet.Base
			}
			rules[i].Shadow = s.Fleet.Action != ""
			rules[i].Changed = config.Changed{Since: s.Fleet.Since, By: s.Fleet.By, Note: s.Fleet.Note}
		}
	}
	return rules
}

// undoShared undoes the fleet's threshold of a rule.
func undoShared(ctx context.Context, out io.Writer, node *client.Client, name string) error {
	after, err := node.EndFleet(ctx, name, false)
	if err == nil {
		fmt.Fprintf(out, "rule %s: the fleet's change is undone; here threshold %d is in force\n", name, after.Threshold)
	}
	return err
}

// rulesConfirmCommand puts a threshold in force that waits.
func rulesConfirmCommand(e *command.Env) *cobra.Command {
	return asksEach(e, &cobra.Command{
		Use:   "confirm RULE...",
		Short: "Put the fleet's threshold of rules in force that awaits confirmation",
		Long: `confirm puts a threshold of the whole fleet in force that this node holds, because
it would newly refuse more than confirm_share of the requests. No node holds it
after that. To withdraw it instead: edgeguard rules reset --fleet RULE.`,
		Example: "  edgeguard rules confirm site",
		Args:    cobra.MinimumNArgs(1),
	}, confirmShared)
}

// confirmShared puts the fleet's threshold of one rule in force.
func confirmShared(ctx context.Context, out io.Writer, node *client.Client, name string) error {
	list, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Rules, func(r admin.Rule) bool { return r.Name == name })
	if i < 0 || list.Rules[i].Fleet == nil || !list.Rules[i].Fleet.Held {
		return fmt.Errorf("no threshold of rule %s awaits confirmation: see `edgeguard rules changed`", name)
	}
	held, after := list.Rules[i].Fleet, admin.Rule{}
	if held.Threshold == 0 {
		after, err = node.EndFleet(ctx, name, true)
	} else {
		after, err = node.SetThreshold(ctx, name, admin.ThresholdRequest{
			Threshold: held.Threshold, IfThreshold: list.Rules[i].Threshold, Note: held.Note, Scope: admin.ScopeFleet, Force: true})
	}
	if err == nil {
		fmt.Fprintf(out, "rule %s: threshold %d is in force on the fleet\n", name, after.Threshold)
	}
	return err
}
