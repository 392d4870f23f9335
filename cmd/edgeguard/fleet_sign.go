package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/internal/words"
)

func fleetSignCommand(e *command.Env) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "sign [--yes]",
		Short: "Sign all records that this node has, by the first key of its fleet.key_file",
		Long: `sign has the node vouch for all blocks, allowances and unblocks on its list,
whoever made them, and publish their signatures by the first line of its key
file. Run it on one node: before key_mode: require, and in a rotation after the
new key has become the first on every node. Without --yes it only shows how many
records these are. Look at 'edgeguard blocks' and 'edgeguard allow' first.`,
		Example: "  edgeguard fleet sign\n  edgeguard fleet sign --yes",
		Args:    command.NoArguments,
	}
	c.Flags().BoolVar(&yes, "yes", false, "sign them")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		done, err := node.Sign(ctx, admin.SignRequest{Yes: yes})
		if err == nil {
			printSigned(e, done, yes)
		}
		return err
	})
}

func printSigned(e *command.Env, s admin.Signed, done bool) {
	records := words.Plural(s.Records, "record", "records")
	if done {
		fmt.Fprintf(e.Stdout, "signed %s, %s of them unsigned before; edgeguard fleet status shows when the fleet has them\n", records, words.Number(s.Unsigned))
		return
	}
	fmt.Fprintf(e.Stdout, "%s, %s of them unsigned: run edgeguard fleet sign --yes to sign all\n", records, words.Number(s.Unsigned))
}
