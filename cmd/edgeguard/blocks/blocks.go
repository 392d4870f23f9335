// Package blocks has the commands that change which addresses a running node blocks.
// They show these blocks, the allowances, what awaits a confirmation, what lists of
// others hold, and they read or write files of blocks.
package blocks

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/aggregator"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/nearest"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

func Command(e *command.Env) *cobra.Command {
	list := blocksListCommand(e)
	c := &cobra.Command{
		Use:   "blocks [list|add|extend|remove|import|export|held|confirm]",
		Short: "Show and change which addresses are blocked",
		Long: `blocks lists, adds and removes the blocks of a running node. Without a
subcommand, blocks lists. A block of another node that would refuse too many
requests here is held until an operator confirms or removes it.`,
		Example: `  edgeguard blocks
  edgeguard blocks add 203.0.113.9 --for 2h --reason "scraper, ticket 4711"
  edgeguard blocks remove 203.0.113.9`,
		Args: command.NoOther("list, add, extend, remove, import, export, held or confirm"),
		RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, blocksAddCommand(e), blocksExtendCommand(e), blocksRemoveCommand(e), blocksImportCommand(e), blocksExportCommand(e), blocksHeldCommand(e), blocksConfirmCommand(e))
	return c
}

func blocksListCommand(e *command.Env) *cobra.Command {
	var filter client.Filter
	var rows int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the active blocks",
		Example: `  edgeguard blocks list --rule login
  edgeguard blocks list --contains 203.0.113.9 --json`,
		Args: command.NoArguments,
	}
	f := c.Flags()
	f.StringVar(&filter.Rule, "rule", "", "only blocks made by the rule `NAME`")
	f.StringVar(&filter.Owner, "owner", "", "only blocks of the program `NAME`, such as fail2ban")
	f.StringVar(&filter.Origin, "origin", "", "only blocks made by the node `NAME`")
	f.StringVar(&filter.Prefix, "prefix", "", "only blocks inside this `PREFIX`")
	f.StringVar(&filter.Contains, "contains", "", "only blocks that contain this `ADDRESS`")
	f.StringVar(&filter.Batch, "batch", "", "only blocks of the import `NAME`")
	f.IntVar(&rows, "rows", 0, "show at most `N`, 0 for all")
	e.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		return listBlocks(ctx, e, node, filter, rows)
	})
}

// listBlocks prints the blocks as they come, page by page.
func listBlocks(ctx context.Context, e *command.Env, node *client.Client, filter client.Filter, rows int) error {
	t := &output.Table{}
	shown := 0
	for b, err := range node.Blocks(ctx, filter) {
		if err != nil {
			return err
		}
		shown++
		if rows > 0 && shown > rows {
			if e.JSON {
				break
			}
			continue // to say how many more there are
		}
		if !e.JSON {
			AddRow(t, "blocked", &b.Block, time.Now())
		} else if err := e.PrintJSON(b); err != nil {
			return err
		}
	}
	switch {
	case e.JSON:
	case shown == 0:
		if err := unknownRuleError(ctx, node, filter.Rule); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, "no blocks")
	default:
		t.Print(e.Stdout, e.Colour)
		if rows > 0 && shown > rows {
			fmt.Fprintf(e.Stdout, "and %s more: --rows 0 shows all\n", words.Number(shown-rows))
		}
	}
	return nil
}

// unknownRuleError returns an error if the node has no rule of this name: a filter with a typing
// error finds nothing. Blocks of other nodes can be by rules that this one does not
// have, so it is asked only where nothing was found.
func unknownRuleError(ctx context.Context, node *client.Client, name string) error {
	if name == "" || name == edgeguard.ManualRule || edgeguard.Owner(name) != "" {
		return nil
	}
	list, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range list.Rules {
		if r.Name == name {
			return nil
		}
		names = append(names, safetext.Strip(r.Name))
	}
	if meant, ok := nearest.Name(name, names); ok {
		return fmt.Errorf("there is no rule %q: did you mean %s?", safetext.Strip(name), meant)
	}
	return fmt.Errorf("there is no rule %q: the node has %s", safetext.Strip(name), strings.Join(append(names, edgeguard.ManualRule), ", "))
}

// listAround names the blocks that still hold all of a prefix.
func listAround(ctx context.Context, e *command.Env, node *client.Client, prefix netip.Prefix) error {
	for b, err := range node.Blocks(ctx, client.Filter{Contains: prefix.Addr().String()}) {
		if err != nil {
			return err
		}
		switch {
		case b.Prefix.Bits() > prefix.Bits():
		case b.Imported:
			fmt.Fprintf(e.Stdout, "it is still blocked by the imported list %s, as %s; edgeguard allow add %s\n", safetext.Strip(b.Owner), output.Prefix(b.Prefix), output.Prefix(prefix))
		default:
			fmt.Fprintf(e.Stdout, "it is still blocked by a wider block: %s by %s until %s; edgeguard blocks remove %s\n",
				output.Prefix(b.Prefix), safetext.Strip(by(&b.Block)), words.Instant(b.Until), output.Prefix(b.Prefix))
		}
	}
	return nil
}

// AddRow adds a block to a table, below a head that says what its blocks are.
func AddRow(t *output.Table, head string, b *admin.Block, now time.Time) {
	count, limit := b.Unit.Amount(b.Count), b.Unit.Amount(b.Limit)
	if b.Limit == 0 {
		count, limit = "", ""
	}
	t.Cells(
		output.Text(output.Red, head, output.Prefix(b.Prefix)), output.Text(output.Plain, "rule", b.Rule),
		output.Number(output.Plain, "count", count), output.Number(output.Faint, "limit", limit), output.Text(output.Faint, "of", b.Unit.Many),
		output.Text(output.Plain, "since", words.Instant(b.Since)), output.Number(output.Plain, "remaining", words.Left(b.Until.Sub(now))),
		output.Text(output.Plain, "by", b.Origin), output.Text(output.Faint, "reason", b.Reason),
	)
}

func blocksAddCommand(e *command.Env) *cobra.Command {
	var request admin.BlockRequest
	c := &cobra.Command{
		Use:   "add PREFIX",
		Short: "Block an address or a prefix by hand",
		Example: `  edgeguard blocks add 203.0.113.9
  edgeguard blocks add 2001:db8:1::/48 --for 30d --reason "bot network"`,
		Args:    command.OneArgument("one address or prefix"),
		PreRunE: func(*cobra.Command, []string) error { return notOwned(e, request.Owner) },
	}
	f := c.Flags()
	noWait := noWaitFlag(c)
	e.JSONFlag(c, "print JSON, one object")
	f.StringVar(&request.For, "for", "1h", "how long, as `TIME` such as 90s, 12h or 30d")
	f.StringVar(&request.Owner, "owner", "", "block for the program `NAME`, such as fail2ban: not as an operator")
	f.StringVar(&request.Reason, "reason", "", "`TEXT` shown with the block")
	f.BoolVar(&request.Force, "force", false, "also block a protected address, a prefix wider than /16 (IPv4) or /32 (IPv6), or the source of many requests")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		request.Prefix = args[0]
		if request.Owner != "" {
			return addOwned(ctx, e, node, request)
		}
		added, err := node.Block(ctx, request)
		return command.Show(e, added, err, func(e *command.Env, b *admin.Block) {
			sayAdded(ctx, e, node, b, request.Force, !*noWait)
		})
	})
}

func blocksExtendCommand(e *command.Env) *cobra.Command {
	var request admin.ExtendRequest
	c := &cobra.Command{
		Use:   "extend PREFIX",
		Short: "Move the end of a block, to later or sooner",
		Long: `extend moves the end of the block of exactly this prefix, on all nodes of a fleet. It is an
operator's block then: a rule that it comes from does not move the end again.`,
		Example: `  edgeguard blocks extend 203.0.113.9 --for 30d
  edgeguard blocks extend 203.0.113.9 --for 10m --reason "customer called"`,
		Args: command.OneArgument("the address or prefix that is blocked"),
	}
	f := c.Flags()
	e.JSONFlag(c, "print JSON, one object")
	f.StringVar(&request.For, "for", "1h", "how long from now, as `TIME` such as 10m, 12h or 30d")
	f.StringVar(&request.Reason, "reason", "", "`TEXT` shown with the block, instead of what is there")
	f.BoolVar(&request.Force, "force", false, "also where the block needed it: of a protected address, a wide prefix, the source of many requests")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		extended, err := node.Extend(ctx, args[0], request)
		return command.Show(e, extended, err, func(e *command.Env, b *admin.Block) {
			fmt.Fprintf(e.Stdout, "%s is blocked until %s\n", output.Prefix(b.Prefix), words.Instant(b.Until))
		})
	})
}

// sayAdded says what a new block does, and where it waits.
func sayAdded(ctx context.Context, e *command.Env, node *client.Client, b *admin.Block, force, wait bool) {
	alone := ""
	if !aggregator.Travels(b.Prefix) {
		alone = ", on this node only: so wide a block is not sent to other nodes"
	}
	fmt.Fprintf(e.Stdout, "%s is blocked until %s%s\n", output.Prefix(b.Prefix), words.Instant(b.Until), alone)
	if b.Prefix.IsSingleIP() && b.Prefix.Addr().Is6() {
		wide, _ := b.Prefix.Addr().Prefix(64)
		fmt.Fprintf(e.Stdout, "this is one IPv6 address: rules count a /64, most clients have one; edgeguard blocks add %s blocks it\n", wide)
	}
	status, err := node.Status(ctx)
	if err == nil && status.Monitor {
		fmt.Fprintln(e.Stdout, "the node is in mode monitor: no request is refused, and lists stay empty")
	}
	unsigned := status.Fleet != nil && status.Fleet.KeyMode == ""
	if alone == "" && (force || unsigned && !aggregator.Narrow(b.Prefix)) {
		Say(ctx, e.Stdout, node, wait, b.Prefix.String())
	}
}

func blocksRemoveCommand(e *command.Env) *cobra.Command {
	r := removal{env: e, one: oneBlock, many: manyBlocks, lift: (*client.Client).UnblockMany}
	var all bool
	c := &cobra.Command{
		Use:   "remove [PREFIX...]",
		Short: "Remove blocks and reset the counts of their addresses",
		Long: `remove takes back the block of exactly this prefix, and resets the counts of its
addresses, on all nodes of a fleet. It stops at the first prefix that is not blocked.
With --owner it takes back the block that this program made through this
node, and resets nothing; another block stays, and that is no error.

Without a prefix it takes back every block that --batch, --rule, --owner (through this
node), --prefix and --attack match, or with --all every one: as one change, after a
question that says how many. A block that one of them had replaced, as an import does a
rule's, is in force again. Counts restart at 0 for the blocks that rules made, and
for no others.`,
		Example: `  edgeguard blocks remove 203.0.113.9
  edgeguard blocks remove 2001:db8:1:2::/64 --reason "customer called"
  edgeguard blocks remove --batch 1x8k3qz
  edgeguard blocks remove --rule scan --dry-run
  edgeguard blocks remove --prefix 203.0.113.0/24 --yes`,
		Args: func(c *cobra.Command, args []string) error { return r.checkBlocks(c, all, args) },
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return notOwned(e, r.of.Owner)
		},
	}
	noWait := noWaitFlag(c)
	e.JSONFlag(c, "print JSON, one object")
	r.flags(c)
	c.Flags().StringVar(&r.of.Rule, "rule", "", "all blocks of the rule `NAME`")
	c.Flags().StringVar(&r.of.Prefix, "prefix", "", "all blocks inside this `PREFIX`")
	c.Flags().StringVar(&r.of.Attack, "attack", "", "all blocks of the attack `ID`: see edgeguard attacks")
	c.Flags().StringVar(&r.of.Owner, "owner", "", "only what the program `NAME` made through this node, and keep the counts")
	c.Flags().BoolVar(&all, "all", false, "every block")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		switch {
		case len(args) == 0:
			return r.removeBlocks(ctx, node)
		case r.of.Owner != "":
			return removeOwned(ctx, e, node, args[0], r.of.Owner, r.reason)
		}
		for _, prefix := range args {
			if err := removeBlock(ctx, e, node, prefix, r.reason, !*noWait); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeBlock takes back one block, and says what came of it.
func removeBlock(ctx context.Context, e *command.Env, node *client.Client, prefix, reason string, wait bool) error {
	again := sendsOn(ctx, node, prefix) // before its counts are cleared
	b, err := node.Unblock(ctx, prefix, reason)
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(b)
	}
	fmt.Fprintf(e.Stdout, "%s is no longer blocked, and its counts restart at 0\n", output.Prefix(b.Prefix))
	sayAfter(ctx, e, node, again, b.Prefix)
	if wider(b.Prefix, edgeguard.WidestV4, edgeguard.WidestV6) {
		Say(ctx, e.Stdout, node, wait, b.Prefix.String())
	}
	return listAround(ctx, e, node, b.Prefix)
}

// sendsOn says that an address still sends, and how soon a rule blocks it again; empty where
// it does not, or where that cannot be said.
func sendsOn(ctx context.Context, node *client.Client, text string) string {
	prefix, problem := call.ParsePrefix("prefix", text)
	if problem != nil {
		return ""
	}
	x, err := node.Explain(ctx, prefix.Addr())
	if err != nil {
		return ""
	}
	return admin.Returns(prefix, x.Rules, x.Time)
}

// sayAfter says where an unblock is not in force yet, and whether it will last.
func sayAfter(ctx context.Context, e *command.Env, node *client.Client, again string, prefix netip.Prefix) {
	sayLingers(ctx, e, node)
	if again != "" {
		fmt.Fprintf(e.Stdout, "%s To let it in whatever it does: edgeguard allow add %s\n", again, output.Prefix(prefix))
	}
}

// sayLingers says where an unblock is not in force yet.
func sayLingers(ctx context.Context, e *command.Env, node *client.Client) {
	if status, err := node.Status(ctx); err == nil {
		if text := status.Lingers(); text != "" {
			fmt.Fprintln(e.Stdout, safetext.Strip(text))
		}
	}
}

// wider reports whether a prefix has fewer bits than these of its family.
func wider(p netip.Prefix, v4, v6 int) bool {
	if p.Addr().Is4() {
		return p.Bits() < v4
	}
	return p.Bits() < v6
}
