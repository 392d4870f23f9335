package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

func clientsCommand(e *command.Env) *cobra.Command {
	list := clientsListCommand(e)
	c := &cobra.Command{
		Use:   "clients [list|add|remove]",
		Short: "Show and change which networks are clients', though they look like a front door's",
		Long: `clients lists, adds and removes networks whose addresses are clients', by the
config's clients or by an operator's word at run time. Other private addresses, and a
CDN's, are not blocked while their source shows no other clients. What is added holds
on this node alone, and survives restarts. Without a subcommand, clients lists.`,
		Example: `  edgeguard clients
  edgeguard clients add 10.0.0.0/8 --reason "the office"
  edgeguard clients remove 10.0.0.0/8`,
		Args: command.NoOther("list, add or remove"),
		RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list,
		clientsChange(e, "add", "Say that a network's addresses are clients', to be blocked as any", "is clients': it is blocked as any",
			func(ctx context.Context, node *client.Client, prefix, reason string) (admin.Client, error) {
				return node.AddClient(ctx, admin.ClientRequest{Prefix: prefix, Reason: reason})
			}),
		clientsChange(e, "remove", "Take that back", "is not named any more: it is spared where it looks like a front door's; blocks stay until they end",
			func(ctx context.Context, node *client.Client, prefix, reason string) (admin.Client, error) {
				return node.RemoveClient(ctx, prefix, reason)
			}))
	return c
}

func clientsListCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the networks of clients, by the config and by operators",
		Example: "  edgeguard clients list --json",
		Args:    command.NoArguments,
	}
	e.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		all, err := node.Clients(ctx)
		return command.ShowAll(e, all, err, listClients)
	})
}

func listClients(e *command.Env, all []admin.Client) {
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "no networks are named as clients'")
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "clients", "by", "since")
	for _, c := range all {
		since := ""
		if !c.Since.IsZero() {
			since = words.Instant(c.Since)
		}
		t.Row(output.Prefix(c.Prefix), c.Source, since)
	}
	t.Print(e.Stdout, e.Colour)
}

// clientsChange is a command that changes what is said of a network.
func clientsChange(e *command.Env, verb, short, done string, change func(ctx context.Context, node *client.Client, prefix, reason string) (admin.Client, error)) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:     verb + " PREFIX",
		Short:   short,
		Example: "  edgeguard clients " + verb + " 10.0.0.0/8",
		Args:    command.OneArgument("one address or prefix"),
	}
	e.JSONFlag(c, "print JSON, one object")
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the audit")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		changed, err := change(ctx, node, args[0], reason)
		return command.Show(e, changed, err, func(e *command.Env, c *admin.Client) {
			fmt.Fprintf(e.Stdout, "%s %s\n", output.Prefix(c.Prefix), done)
		})
	})
}
