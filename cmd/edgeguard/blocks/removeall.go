package blocks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// removeAll takes back the blocks that a filter matches, in as many requests as it takes, or says
// what that would be.
func removeAll(ctx context.Context, e *command.Env, node *client.Client, of client.Filter, reason string, dryRun bool) error {
	if of.Owner != "" {
		status, err := node.Status(ctx)
		if err != nil {
			return err
		}
		of.Origin = status.Node
	}
	sum := admin.BulkLifted{Rules: make(map[string]int), More: true}
	for sum.More {
		done, err := node.UnblockMany(ctx, of, reason, dryRun)
		if err != nil && sum.Lifted > 0 {
			return fmt.Errorf("%w; before it, %s removed: remove the rest by the same command", err, words.Plural(sum.Lifted, "block was", "blocks were"))
		}
		if err != nil {
			return err
		}
		sum.Lifted, sum.Restored, sum.Changed, sum.More = sum.Lifted+done.Lifted, sum.Restored+done.Restored, done.Changed, done.More
		for rule, n := range done.Rules {
			sum.Rules[rule] += n
		}
		if dryRun || done.Lifted == 0 {
			break
		}
	}
	if sum.Lifted == 0 && !e.JSON {
		if err := unknownRuleError(ctx, node, of.Rule); err != nil {
			return err
		}
	}
	return command.Show(e, sum, nil, func(e *command.Env, _ *admin.BulkLifted) { sayRemoved(e, &sum, dryRun) })
}

// sayRemoved says which blocks were removed, and what stands in their place.
func sayRemoved(e *command.Env, sum *admin.BulkLifted, dryRun bool) {
	removed, more := "removed", ""
	if dryRun {
		removed = "would be removed"
	}
	if sum.More {
		more = ", and more"
	}
	fmt.Fprintf(e.Stdout, "%s%s %s\n", words.Plural(sum.Lifted, "block", "blocks"), more, removed)
	var by []string
	for _, rule := range slices.Sorted(maps.Keys(sum.Rules)) {
		by = append(by, fmt.Sprintf("%s %s", safetext.Strip(rule), words.Number(sum.Rules[rule])))
	}
	if len(by) > 0 {
		fmt.Fprintf(e.Stdout, "by rule: %s; counts restart at 0 for those that rules made\n", strings.Join(by, ", "))
	}
	if sum.Restored > 0 {
		fmt.Fprintf(e.Stdout, "%s had replaced another, which is in force again\n", words.Plural(sum.Restored, "block", "blocks"))
	}
	if sum.Changed > 0 {
		fmt.Fprintf(e.Stdout, "%s changed meanwhile and stayed\n", words.Plural(sum.Changed, "block", "blocks"))
	}
}
