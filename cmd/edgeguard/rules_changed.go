package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/config"
	"edgeguard/internal/safetext"
	"edgeguard/node/overlay"
)

// overlaid is what was changed of the rules, and where it was read.
type overlaid struct {
	rules  []config.RuleOverlay
	fleet  []overlay.Shared // what was set for the whole fleet
	unused []string         // why what is kept is not in force
	from   string           // the file, where no node answered
}

// rulesChangedCommand prints what was changed. It asks the node, and where none answers it reads
// the file in the state folder.
func rulesChangedCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "changed",
		Short:   "Show what was changed of the rules while the node ran, when, by whom and until when",
		Example: "  edgeguard rules changed\n  edgeguard rules changed --export",
		Args:    command.NoArguments,
	}
	export := c.Flags().Bool("export", false, "print it as the lines of the rules for the config")
	ask := nodeaddr.Flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		list, err := nodeaddr.Get(c.Context(), ask, func(ctx context.Context, node *client.Client) (admin.RuleList, error) { return node.Rules(ctx) })
		all := overlaidByNode(&list)
		if refused := new(call.Problem); err != nil && !errors.As(err, &refused) && !c.Flags().Changed("admin") {
			name, _ := c.Flags().GetString("config")
			if fromFile, fileErr := overlaidByFile(name); fileErr == nil {
				all, err = fromFile, nil
			}
		}
		switch {
		case err != nil:
			return err
		case *export:
			exportOverlay(e.Stdout, &all)
		default:
			showOverlay(e.Stdout, &all)
		}
		return nil
	}
	return c
}

// overlaidByNode returns what a node has in force.
func overlaidByNode(list *admin.RuleList) (all overlaid) {
	for _, r := range list.Rules {
		one := config.RuleOverlay{Name: r.Name}
		if r.Fleet != nil {
			all.fleet = append(all.fleet, overlay.Shared{Rule: r.Name, Fleet: *r.Fleet})
		}
		if o := r.Overlay; o != nil && o.Scope != admin.ScopeFleet {
			one.Shadow, one.Until, one.Changed = o.Action != "", o.Until, config.Changed{Since: o.Since, By: o.By, Note: o.Note}
			if o.Threshold != o.Base {
				one.Threshold, one.Base = o.Threshold, o.Base
			}
		}
		for _, c := range r.Candidates {
			if c.Added {
				one.Candidates = append(one.Candidates, config.CandidateOverlay{Threshold: c.Threshold, Changed: config.Changed{Since: c.Since}})
			}
		}
		if !one.Empty() {
			all.rules = append(all.rules, one)
		}
	}
	for _, u := range list.Unused {
		all.unused = append(all.unused, fmt.Sprintf("rule %s: not in force: %s", u.Rule, u.Why))
	}
	return all
}

// overlaidByFile returns what the file in the state folder has, for the next start.
func overlaidByFile(name string) (overlaid, error) {
	c, err := command.LoadConfig(name)
	if err != nil {
		return overlaid{}, err
	}
	if c.State == "" {
		return overlaid{}, errors.New("the config has no state folder")
	}
	file := overlay.FileIn(c.State)
	o, err := overlay.Read(file)
	if err != nil {
		return overlaid{}, err
	}
	all := overlaid{rules: o.Rules, from: file}
	all.fleet, err = overlay.SharedIn(c.State)
	return all, err
}

// overlaidOn returns what is in force on top of a config, in words, or why that cannot be
// said.
func overlaidOn(c *config.Config) []string {
	if c.State == "" || !c.Overlay {
		return nil
	}
	o, err := overlay.Read(overlay.FileIn(c.State))
	if err != nil {
		return []string{err.Error()}
	}
	fleet, err := overlay.SharedIn(c.State)
	if err != nil {
		return []string{err.Error()}
	}
	return append(describeShared(fleet, true), describeOverlay(o.Rules)...)
}

// describeOverlay describes what was changed of rules, a line for each change.
func describeOverlay(rules []config.RuleOverlay) (lines []string) {
	for _, r := range rules {
		if r.Threshold > 0 {
			lines = append(lines, fmt.Sprintf("rule %s: threshold %d instead of %d%s%s", r.Name, r.Threshold, r.Base, describeEnd(r.Until), describeChange(r.Changed)))
		}
		if r.Shadow {
			lines = append(lines, fmt.Sprintf("rule %s: action shadow%s%s", r.Name, describeEnd(r.Until), describeChange(r.Changed)))
		}
		for _, c := range r.Candidates {
			lines = append(lines, fmt.Sprintf("rule %s: candidate %d%s", r.Name, c.Threshold, describeChange(c.Changed)))
		}
	}
	for i := range lines {
		lines[i] = safetext.Strip(lines[i])
	}
	return lines
}

// describeEnd says until when something is in force.
func describeEnd(until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return ", until " + until.Format(time.RFC3339)
}

// describeChange says when, by whom and why something was changed.
func describeChange(c config.Changed) (text string) {
	if !c.Since.IsZero() {
		text += ", since " + c.Since.Format(time.RFC3339)
	}
	if c.By != "" {
		text += ", by " + c.By
	}
	if c.Note != "" {
		text += ": " + c.Note
	}
	return text
}

func showOverlay(out io.Writer, all *overlaid) {
	lines := append(describeShared(all.fleet, false), describeOverlay(all.rules)...)
	lines = append(lines, all.unused...)
	if len(lines) == 0 {
		lines = []string{"nothing is changed: the rules are the config's"}
	}
	if all.from != "" {
		lines = append(lines, "no node answers: this is what "+all.from+" has for its next start")
	}
	for _, line := range lines {
		fmt.Fprintln(out, safetext.Strip(line))
	}
}

// exportOverlay prints lines to merge into the config's rules by hand. A rule's other lines
// are the config's own.
func exportOverlay(out io.Writer, all *overlaid) {
	rules := withShared(all)
	if len(rules) == 0 {
		fmt.Fprintln(out, "# nothing is changed: the rules are the config's")
		return
	}
	fmt.Fprintln(out, "rules:")
	for _, r := range rules {
		fmt.Fprintf(out, "  - name: %q\n", r.Name)
		if r.Threshold > 0 {
			fmt.Fprintf(out, "    threshold: %d # instead of %d%s\n", r.Threshold, r.Base, safetext.Strip(describeChange(r.Changed)))
		}
		if r.Shadow {
			fmt.Fprintf(out, "    action: shadow # set while the node ran%s\n", safetext.Strip(describeChange(r.Changed)))
		}
		var candidates []string
		for _, c := range r.Candidates {
			candidates = append(candidates, fmt.Sprint(c.Threshold))
		}
		if len(candidates) > 0 {
			fmt.Fprintf(out, "    candidates: [%s] # beside the config's\n", strings.Join(candidates, ", "))
		}
	}
}

// rulesResetCommand undoes what was changed.
func rulesResetCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "reset RULE...",
		Short: "Put the config's threshold and action of rules in force again, and remove added candidates",
		Long: `reset undoes what was changed of rules while the node ran. Without a running
node, remove overlay.yaml in the state folder instead. With --fleet it undoes what
was set for the whole fleet, on all nodes.`,
		Example: "  edgeguard rules reset site\n  edgeguard rules reset --fleet site",
		Args:    cobra.MinimumNArgs(1),
	}
	fleet := c.Flags().Bool("fleet", false, "undo the threshold of the whole fleet")
	return asksEach(e, c, func(ctx context.Context, out io.Writer, node *client.Client, name string) error {
		if *fleet {
			return undoShared(ctx, out, node, name)
		}
		return undoOverlay(ctx, out, node, name)
	})
}

// asksEach makes c do something with each rule that it is given, until an error.
func asksEach(e *command.Env, c *cobra.Command, do func(context.Context, io.Writer, *client.Client, string) error) *cobra.Command {
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, names []string) error {
		for _, name := range names {
			if err := do(ctx, e.Stdout, node, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// undoOverlay undoes what was changed of one rule.
func undoOverlay(ctx context.Context, out io.Writer, node *client.Client, name string) error {
	list, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	for _, r := range overlaidByNode(&list).rules {
		if r.Name != name {
			continue
		}
		for _, c := range r.Candidates {
			if _, err := node.RemoveCandidate(ctx, name, c.Threshold); err != nil {
				return err
			}
			fmt.Fprintf(out, "rule %s: candidate %d is removed\n", name, c.Threshold)
		}
		if !r.Decides() {
			return nil
		}
	}
	after, err := node.EndOverlay(ctx, name)
	switch {
	case err != nil:
		return err
	case after.Name == "":
		fmt.Fprintf(out, "rule %s: what was kept of it is removed\n", name)
	default:
		fmt.Fprintf(out, "rule %s: threshold %d is in force again\n", name, after.Threshold)
	}
	return nil
}
