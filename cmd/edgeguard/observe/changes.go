package observe

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/internal/words"
)

// Changes returns the command changes.
func Changes(p *command.Env) *cobra.Command {
	rows := 20
	c := &cobra.Command{
		Use:   "changes",
		Short: "List what operators changed on a running node, and how to undo it",
		Long: `changes lists what operators changed by hand, the newest first: when, who, what, and the
command that takes it back. A node keeps it on disk, by default for 30 days. It requires a
login, as the unix socket is.`,
		Example: `  edgeguard changes
  edgeguard changes --rows 100 --json`,
		Args: command.NoArguments,
		PreRunE: func(*cobra.Command, []string) error {
			if rows < 0 {
				return command.Usage(errors.New("changes: --rows must not be negative"))
			}
			return nil
		},
	}
	c.Flags().IntVar(&rows, "rows", rows, "print the newest `N` changes, 0 for all")
	p.JSONFlag(c, "print JSON, one object per line")
	c.AddCommand(undoCommand(p))
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		printed := 0
		for one, err := range node.Changes(ctx) {
			if err != nil {
				return err
			}
			if err := printChange(p, &one); err != nil {
				return err
			}
			if printed++; printed == rows {
				break
			}
		}
		return nil
	})
}

// undoCommand returns the command that puts back what changes of many lifted.
func undoCommand(p *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "undo NAME...",
		Short: "Put back what a removal of many blocks or allowances lifted",
		Long: `undo puts in force again what a removal of many lifted, on all nodes of a fleet. What was
blocked, extended or allowed since stays as it is. A node remembers the last 200,000 until it ends.`,
		Example: "  edgeguard changes undo 1x8k3qz",
		Args:    cobra.MinimumNArgs(1),
	}
	p.JSONFlag(c, "print JSON, one object for each")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, names []string) error {
		for _, name := range names {
			done, err := node.UndoMany(ctx, name)
			err = command.Show(p, done, err, func(p *command.Env, done *admin.BulkRestored) { fmt.Fprintln(p.Stdout, done) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// printChange prints one change, and how to undo it.
func printChange(p *command.Env, a *admin.Audit) error {
	if p.JSON {
		return p.PrintJSON(a)
	}
	_, err := fmt.Fprintf(p.Stdout, "%s  %s\n", words.Instant(a.Time), describeChange(a))
	if err == nil && a.Undo != "" {
		_, err = fmt.Fprintf(p.Stdout, "    undo: %s\n", clean(a.Undo))
	}
	return err
}
