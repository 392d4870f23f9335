package blocks

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
)

func blocksExportCommand(e *command.Env) *cobra.Command {
	var format string
	var filter client.Filter
	var all bool
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the blocks of operators and of other programs, for import elsewhere",
		Long: `export writes the active blocks that operators and other programs such as fail2ban
made, here or on other nodes of the fleet. With --all it writes those of rules too:
'edgeguard blocks import' makes operators' blocks of them.`,
		Example: `  edgeguard blocks export > blocks.json
  edgeguard blocks export --format csv --owner fail2ban > bans.csv`,
		Args: command.NoArguments,
		PreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(fileFormats, fileFormat(format)) {
				return command.Usage(fmt.Errorf("export: --format %s: use one of %v", format, fileFormats))
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", string(jsonFile), "`FORMAT`: json, csv, or plain, which has prefixes only")
	c.Flags().StringVar(&filter.Owner, "owner", "", "only blocks of the program `NAME`, such as fail2ban")
	c.Flags().BoolVar(&all, "all", false, "also blocks of rules")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		return export(ctx, node, filter, all, newFileWriter(e.Stdout, fileFormat(format)))
	})
}

// export writes the blocks as they come, page by page.
func export(ctx context.Context, node *client.Client, filter client.Filter, all bool, to *fileWriter) error {
	for b, err := range node.Blocks(ctx, filter) {
		if err != nil {
			return err
		}
		if all || b.Owner != "" || b.Rule == edgeguard.ManualRule {
			if err := to.Write(exported(&b.Block)); err != nil {
				return err
			}
		}
	}
	return to.Close()
}

// exported returns what a file says of a block.
func exported(b *admin.Block) fileEntry {
	return fileEntry{Prefix: b.Prefix.String(), Rule: b.Rule, Owner: b.Owner, Reason: b.Reason, Origin: b.Origin, Since: b.Since, Until: b.Until}
}
