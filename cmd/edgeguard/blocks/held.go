package blocks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

func blocksHeldCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "held",
		Short: "List the blocks of other nodes that await confirmation",
		Long: `held lists what other nodes sent and what is not in force here: blocks that would
refuse too many of the requests of the last five minutes (fleet.confirm_share), or
do so with those in force; records that are too wide, or with which all from other
nodes would be; and what came faster than a node accepts it, which needs no
confirmation. 'edgeguard blocks confirm' puts them in force,
'edgeguard blocks remove' removes them, both in the whole fleet.`,
		Example: `  edgeguard blocks held --json`,
		Args:    command.NoArguments,
	}
	e.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		return listHeld(ctx, e, node)
	})
}

// listHeld prints the held blocks as they come, page by page.
func listHeld(ctx context.Context, e *command.Env, node *client.Client) error {
	t := &output.Table{}
	t.Texts(output.Amber, "held")
	t.Texts(output.Plain, "kind", "why")
	t.Numbers(output.Red, "share of requests")
	t.Texts(output.Plain, "rule", "by")
	t.Numbers(output.Plain, "remaining")
	t.Texts(output.Faint, "reason")
	for b, err := range node.Held(ctx) {
		if err != nil {
			return err
		}
		if !e.JSON {
			t.Row(output.Prefix(b.Prefix), b.Kind, whyText(b.Why), words.PercentShare(b.Share), b.Rule, b.Origin, words.Left(time.Until(b.Until)), b.Reason)
		} else if err := e.PrintJSON(b); err != nil {
			return err
		}
	}
	switch {
	case e.JSON:
	case t.Len() == 0:
		fmt.Fprintln(e.Stdout, "no block awaits confirmation")
	default:
		t.Print(e.Stdout, e.Colour)
	}
	return nil
}

// whyText returns why a record is held, in words.
func whyText(why string) string {
	switch why {
	case "", "too_much":
		return "refuses too much"
	case "wide":
		return "too wide, or all others are with it"
	case "pace":
		return "waits for room"
	case "unseen":
		return "too few requests here yet"
	}
	return why
}

func blocksConfirmCommand(e *command.Env) *cobra.Command {
	var request admin.ConfirmRequest
	c := &cobra.Command{
		Use:   "confirm PREFIX... | --all",
		Short: "Confirm held blocks",
		Long: `confirm puts held blocks in force, here and on all nodes of the fleet. What is signed
with the fleet's key waits elsewhere only if all from other nodes is too wide there.
In a fleet without a key, confirm on each node that holds them: the command names these.`,
		Example: `  edgeguard blocks confirm 203.0.0.0/16
  edgeguard blocks confirm --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if request.All == (len(args) > 0) {
				return command.Usage(errors.New("confirm: name held addresses or prefixes, or use --all"))
			}
			return nil
		},
	}
	noWait := noWaitFlag(c)
	e.JSONFlag(c, "print JSON, one object")
	c.Flags().BoolVar(&request.All, "all", false, "all held blocks")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		request.Prefixes = args
		confirmed, err := node.Confirm(ctx, request)
		return command.Show(e, confirmed, err, func(e *command.Env, done *admin.Confirmed) {
			fmt.Fprintf(e.Stdout, "%s in force\n", words.Plural(done.Confirmed, "block is", "blocks are"))
			if done.Confirmed > 0 {
				Say(ctx, e.Stdout, node, !*noWait, args...)
			}
		})
	})
}
