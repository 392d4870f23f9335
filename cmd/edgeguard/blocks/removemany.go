package blocks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// removal takes back many blocks or allowances.
type removal struct {
	env         *command.Env
	of          client.Filter
	reason      string
	dryRun, yes bool
	one, many   string   // what they are
	done        []string // the names of what was removed
	lift        func(node *client.Client, ctx context.Context, f client.Filter, reason string, try bool) (admin.BulkLifted, error)
}

// flags declares those of a command that may remove many.
func (r *removal) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.reason, "reason", "", "`TEXT` for the log")
	f.StringVar(&r.of.Batch, "batch", "", "all that are still of the import `NAME`")
	f.BoolVar(&r.yes, "yes", false, "remove many without a question")
	f.BoolVar(&r.dryRun, "dry-run", false, "change nothing, and say how many would be removed")
}

// only refuses the flags for many where one is named.
func (r *removal) only(c *cobra.Command, args []string, what string) error {
	if r.dryRun {
		return command.Usage(fmt.Errorf("%s: --dry-run is for many: to remove one, name it alone", c.Name()))
	}
	return command.OneArgument(what)(c, args)
}

// run says how many there are, asks, and takes them back in as many requests as it takes.
func (r *removal) run(ctx context.Context, node *client.Client) error {
	sum, err := r.lift(node, ctx, r.of, r.reason, true)
	switch {
	case err != nil:
		return err
	case sum.Lifted == 0 && r.of.Batch != "":
		return fmt.Errorf("no %s is of the batch %s: it was taken back or replaced, or has ended; edgeguard changes lists what there was", r.one, safetext.Strip(r.of.Batch))
	case sum.Lifted == 0 && !r.env.JSON:
		err = unknownRuleError(ctx, node, r.of.Rule)
	}
	const would = "would be removed"
	if err != nil || r.dryRun || sum.Lifted == 0 {
		return command.Show(r.env, sum, err, func(*command.Env, *admin.BulkLifted) { r.say(&sum, would) })
	}
	if !r.yes {
		if !r.env.JSON {
			r.say(&sum, would)
		}
		if err := r.env.Agreed("Remove them?"); err != nil {
			return err
		}
	}
	if sum, err = r.liftAll(ctx, node); err != nil {
		return err
	}
	return command.Show(r.env, sum, nil, func(*command.Env, *admin.BulkLifted) {
		r.say(&sum, "removed")
		if len(r.done) > 0 {
			fmt.Fprintf(r.env.Stdout, "to put them back: edgeguard changes undo %s\n", strings.Join(r.done, " "))
		}
		sayLingers(ctx, r.env, node)
	})
}

// liftAll takes back all, and adds up what came of it.
func (r *removal) liftAll(ctx context.Context, node *client.Client) (sum admin.BulkLifted, err error) {
	sum.Rules, sum.More = make(map[string]int), true
	for sum.More {
		done, err := r.lift(node, ctx, r.of, r.reason, false)
		if err != nil && sum.Lifted > 0 {
			err = fmt.Errorf("%w; before it, %s removed: remove the rest by the same command", err, words.Plural(sum.Lifted, r.one+" was", r.many+" were"))
		}
		if err != nil {
			return sum, err
		}
		sum.Lifted, sum.Restored, sum.Blocked, sum.Changed, sum.More = sum.Lifted+done.Lifted, sum.Restored+done.Restored, sum.Blocked+done.Blocked, done.Changed, done.More && done.Lifted > 0
		if done.Batch != 0 {
			r.done, sum.Batch = append(r.done, done.Batch.String()), done.Batch
		}
		for rule, n := range done.Rules {
			sum.Rules[rule] += n
		}
	}
	return sum, nil
}

// say says which were removed, what stands in their place, and what comes back by itself.
func (r *removal) say(sum *admin.BulkLifted, removed string) {
	out, more := r.env.Stdout, ""
	if sum.More {
		more = ", and more"
	}
	fmt.Fprintf(out, "%s%s %s\n", words.Plural(sum.Lifted, r.one, r.many), more, removed)
	var by, rules, owners []string
	for _, rule := range slices.Sorted(maps.Keys(sum.Rules)) {
		by = append(by, fmt.Sprintf("%s %s", safetext.Strip(rule), words.Number(sum.Rules[rule])))
		if owner := edgeguard.Owner(rule); owner != "" {
			owners = append(owners, safetext.Strip(owner))
		} else if rule != edgeguard.ManualRule {
			rules = append(rules, rule)
		}
	}
	if len(by) > 0 && r.one == oneBlock {
		fmt.Fprintf(out, "by rule: %s\n", strings.Join(by, ", "))
	}
	if len(rules) > 0 {
		fmt.Fprintln(out, "counts restart at 0 for those that rules made; who goes over a limit again is blocked again")
	}
	if len(owners) > 0 {
		fmt.Fprintf(out, "what %s finds again it blocks again\n", strings.Join(owners, " or "))
	}
	if sum.Restored > 0 {
		fmt.Fprintf(out, "%s had replaced another, which is in force again\n", words.Plural(sum.Restored, r.one, r.many))
	}
	if sum.Blocked > 0 {
		fmt.Fprintf(out, "%s blocked all the same, inside a wider block or by a list of others: edgeguard explain ADDRESS says which\n", words.Plural(sum.Blocked, "is", "are"))
	}
	if sum.Changed > 0 {
		fmt.Fprintf(out, "%s changed meanwhile and stayed\n", words.Plural(sum.Changed, r.one, r.many))
	}
}

// What is removed, in words.
const (
	oneBlock      = "block"
	manyBlocks    = "blocks"
	oneAllowance  = "allowance"
	allAllowances = "allowances"
)

// removeBlocks takes back the blocks of a filter. An owner's are those that it made through this
// node.
func (r *removal) removeBlocks(ctx context.Context, node *client.Client) error {
	if r.of.Owner != "" {
		status, err := node.Status(ctx)
		if err != nil {
			return err
		}
		r.of.Origin = status.Node
	}
	return r.run(ctx, node)
}

// checkBlocks checks which blocks are to be removed: one by its prefix, or those that flags say.
func (r *removal) checkBlocks(c *cobra.Command, all bool, args []string) error {
	filters := r.of.Rule != "" || r.of.Prefix != "" || r.of.Attack != "" || r.of.Batch != ""
	switch {
	case r.of.Rule != "" && r.of.Owner != "":
		return command.Usage(errors.New("remove: --rule and --owner: use one of them"))
	case all && (filters || r.of.Owner != ""):
		return command.Usage(errors.New("remove: --all is every block there is: leave it out, and the other flags say which"))
	case all || filters || r.of.Owner != "" && len(args) == 0:
		return command.NoArguments(c, args)
	case len(args) > 1 && r.of.Owner == "" && !r.dryRun:
		return nil
	}
	return r.only(c, args, "the address or prefix that is blocked, or --batch, --rule, --owner, --prefix, --attack or --all")
}
