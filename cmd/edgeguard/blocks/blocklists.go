package blocks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// BlocklistsCommand returns `edgeguard blocklists`: it shows the feeds of a node's imported
// blocks, and confirms what awaits it.
func BlocklistsCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "blocklists [confirm NAME]",
		Short: "Show the lists of others that a node blocks, and confirm one",
		Long: `blocklists shows each list of others that a running node imports: how many of its
entries are in force, which are not and why, when it was fetched last and is fetched
next, and what awaits confirmation. Their blocks are of this node only:
'edgeguard blocks list --owner NAME' lists them. To let an address in, allow it.`,
		Example: `  edgeguard blocklists
  edgeguard blocklists confirm drop`,
		Args: command.NoOther("confirm, or nothing"),
	}
	e.JSONFlag(c, "print JSON")
	c.AddCommand(blocklistsConfirmCommand(e))
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		all, err := node.Imports(ctx)
		return command.Show(e, all, err, func(e *command.Env, all *admin.Imports) {
			printImports(e.Stdout, e.Colour, all, time.Now())
		})
	})
}

func blocklistsConfirmCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "confirm NAME",
		Short: "Put in force what awaits confirmation",
		Long: `confirm puts in force the newest list of a feed: it is empty, has too many entries,
or is mostly another than the one before. Look at it before.`,
		Example: `  edgeguard blocklists confirm drop`,
		Args:    command.OneArgument("the name of one list"),
		// A file of the folder is no list.
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		confirmed, err := node.ConfirmImport(ctx, args[0])
		return command.Show(e, confirmed, err, func(e *command.Env, f *admin.ImportFeed) {
			fmt.Fprintf(e.Stdout, "confirmed: %s of %s in force\n", words.Plural(f.InForce, "entry is", "entries are"), safetext.Strip(f.Name))
		})
	})
}

// printImports shows the feeds to people.
func printImports(out io.Writer, colour bool, all *admin.Imports, now time.Time) {
	if len(all.Feeds) == 0 {
		fmt.Fprintln(out, "no list is imported")
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "list", "kind")
	t.Texts(output.Amber, "state")
	t.Numbers(output.Red, "in force")
	t.Texts(output.Plain, "refused")
	t.Numbers(output.Plain, "last good", "next")
	for i := range all.Feeds {
		f := &all.Feeds[i]
		t.Row(safetext.Strip(f.Name), safetext.Strip(cmp.Or(f.Kind, "-")), safetext.Strip(cmp.Or(f.State, "-")), words.Number(f.InForce), refusals(&f.Refused), since(f.Good, now), until(f.Next, now))
	}
	t.Print(out, colour)
	for i := range all.Feeds {
		f := &all.Feeds[i]
		if f.Error != "" {
			fmt.Fprintf(out, "%s: %s\n", safetext.Strip(f.Name), safetext.Strip(f.Error))
		}
		if a := f.Awaits; a != nil {
			fmt.Fprintf(out, "%s awaits confirmation: %s (%s): edgeguard blocklists confirm %s\n", safetext.Strip(f.Name), safetext.Strip(a.Why), words.Plural(a.Entries, "entry", "entries"), safetext.Strip(f.Name))
		}
	}
	fmt.Fprintf(out, "%s of at most %s entries are blocked, on this node only\n", words.Number(all.Blocks), words.Number(all.Most))
}

// refusals says how many entries are not in force, and why.
func refusals(r *admin.ImportRefusals) string {
	var parts []string
	r.Each(func(reason string, n int) {
		if n > 0 {
			parts = append(parts, words.Number(n)+" "+strings.ReplaceAll(reason, "_", " "))
		}
	})
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func since(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return words.Span(max(0, now.Sub(t)).Round(time.Second)) + " ago"
}

func until(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return "in " + words.Span(max(0, t.Sub(now)).Round(time.Second))
}
