package blocks

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/aggregator"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

func AllowCommand(e *command.Env) *cobra.Command {
	list := allowListCommand(e)
	c := &cobra.Command{
		Use:   "allow [list|add|remove|import]",
		Short: "Show and change which addresses are never blocked",
		Long: `allow lists, adds and removes allowances: addresses that are never blocked, by
the config's allowlist or by an allowance made at run time. An allowance reaches
every node of the fleet within a second (a wide one may wait there), ends the block of its prefix, and
survives restarts. Without a subcommand, allow lists.`,
		Example: `  edgeguard allow
  edgeguard allow add 192.0.2.0/24 --for 30d --reason office
  edgeguard allow remove 192.0.2.0/24`,
		Args: command.NoOther("list, add, remove or import"),
		RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, allowAddCommand(e), allowRemoveCommand(e), allowImportCommand(e))
	return c
}

func allowListCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the allowances of the config and those made at run time",
		Example: `  edgeguard allow list --json`,
		Args:    command.NoArguments,
	}
	e.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		all, err := node.Allowances(ctx)
		return command.ShowAll(e, all, err, listAllowances)
	})
}

func listAllowances(e *command.Env, all []admin.Allowance) {
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "no allowances")
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "allowed", "by", "since", "until")
	t.Texts(output.Faint, "reason")
	for _, a := range all {
		if a.Source == admin.AllowedByConfig {
			t.Row(output.Prefix(a.Prefix), "config", "", "", "")
			continue
		}
		t.Row(output.Prefix(a.Prefix), a.Origin, words.Instant(a.Since), allowedUntil(a), a.Reason)
	}
	t.Print(e.Stdout, e.Colour)
}

// allowedUntil writes the end of an allowance.
func allowedUntil(a admin.Allowance) string {
	if a.Until.IsZero() {
		return "removed"
	}
	return words.Instant(a.Until)
}

func allowAddCommand(e *command.Env) *cobra.Command {
	var request admin.AllowRequest
	c := &cobra.Command{
		Use:   "add PREFIX",
		Short: "Never block the addresses of a prefix",
		Example: `  edgeguard allow add 192.0.2.0/24 --for 30d --reason office
  edgeguard allow add 2001:db8:1::/48`,
		Args: command.OneArgument("one address or prefix"),
	}
	f := c.Flags()
	noWait := noWaitFlag(c)
	e.JSONFlag(c, "print JSON, one object")
	f.StringVar(&request.For, "for", "", "duration as `TIME`, such as 12h or 30d (default until removed)")
	f.StringVar(&request.Reason, "reason", "", "`TEXT` shown with the allowance")
	f.BoolVar(&request.Force, "force", false, "also accept a prefix wider than /16 (IPv4) or /32 (IPv6)")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		request.Prefix = args[0]
		allowed, err := node.Allow(ctx, request)
		return command.Show(e, allowed, err, func(e *command.Env, a *admin.Allowance) {
			alone := ""
			if !aggregator.Travels(a.Prefix) {
				alone = ", on this node only: so wide an allowance is not sent to other nodes"
			}
			fmt.Fprintf(e.Stdout, "%s is allowed until %s%s\n", output.Prefix(a.Prefix), allowedUntil(*a), alone)
			if alone == "" && !aggregator.Narrow(a.Prefix) {
				Say(ctx, e.Stdout, node, !*noWait, a.Prefix.String())
			}
		})
	})
}

func allowRemoveCommand(e *command.Env) *cobra.Command {
	r := removal{env: e, one: oneAllowance, many: allAllowances, lift: (*client.Client).DisallowMany}
	c := &cobra.Command{
		Use:   "remove PREFIX | --batch NAME",
		Short: "Remove an allowance made at run time, or those of an import",
		Long: `remove takes back an allowance that was made at run time, or with --batch those that
are still an import's, as one change, after a question that says how many. A block or an
allowance that one of these had replaced is in force again.`,
		Example: `  edgeguard allow remove 192.0.2.0/24 --reason "they moved out"
  edgeguard allow remove --batch 1x8k3qz`,
		Args: func(c *cobra.Command, args []string) error {
			if r.of.Batch != "" {
				return command.NoArguments(c, args)
			}
			return r.only(c, args, "the address or prefix that is allowed, or --batch")
		},
	}
	e.JSONFlag(c, "print JSON, one object")
	r.flags(c)
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		if r.of.Batch != "" {
			return r.run(ctx, node)
		}
		removed, err := node.Disallow(ctx, args[0], r.reason)
		return command.Show(e, removed, err, func(e *command.Env, a *admin.Allowance) {
			fmt.Fprintf(e.Stdout, "the allowance of %s is removed\n", output.Prefix(a.Prefix))
		})
	})
}
