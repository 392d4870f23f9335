package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// enforceCommand returns `edgeguard enforce` with the commands below it: they put the
// kernel's packet filter on trial, confirm it, take it out of force, and empty lists.
func enforceCommand(e *command.Env) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "enforce",
		Short: "Try, confirm and clear what the kernel's packet filter drops, and empty lists",
		Long: `The kernel drops packets of blocked addresses where the config has enforce.nftables.
These commands keep you from locking yourself out: a trial ends by itself unless you
confirm it, also if edgeguard, this command or your terminal dies meanwhile.
The command empty is for the lists that proxies read, once a node has ended for good.`,
		Example: "  edgeguard enforce try 5m\n  edgeguard enforce confirm\n  edgeguard enforce clear",
	},
		enforceStatusCommand(e), enforceTryCommand(e),
		enforceChangeCommand(e, "confirm", "Keep in force what a trial put in force",
			"confirm ends a trial. What it put in force stays, also after a restart."),
		enforceChangeCommand(e, "resume", "Put the packet filter in force again",
			"resume ends the pause after clear, or after a trial that was not confirmed. If it could\nlock you out, run edgeguard enforce try instead."),
		enforceClearCommand(e), enforceEmptyCommand(e),
	)
}

func enforceStatusCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show whether the kernel drops what is blocked, and how much of a trial is left",
		Long: `status shows what the kernel's packet filter does.

The exit code is 0 if it is in force or on trial, 1 if it is paused, only counts, fails
or is not in the config, and 2 if the node does not answer.`,
		Example: "  edgeguard enforce status",
		Args:    command.NoArguments,
	}
	e.JSONFlag(c, "print JSON, one object")
	ask := nodeaddr.Flags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := nodeaddr.Get(c.Context(), ask, func(ctx context.Context, node *client.Client) (admin.KernelState, error) { return node.Kernel(ctx) })
		if err != nil {
			code := observe.Unreachable
			if errors.As(err, new(*call.Problem)) {
				code = observe.Degraded
			}
			return command.Ended{Code: code, Err: err}
		}
		err = command.Show(e, s, nil, describeKernel)
		if err == nil && (s.State == admin.KernelPaused || s.DryRun || s.Error != "") {
			return command.Ended{Code: observe.Degraded}
		}
		return err
	}
	return c
}

// enforceChangeCommand returns a command that changes the node and needs no more than its name.
func enforceChangeCommand(e *command.Env, name, short, long string) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, Example: "  edgeguard enforce " + name, Args: command.NoArguments}
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		s, err := node.ChangeKernel(ctx, name)
		return command.Show(e, s, err, describeKernel)
	})
}

// describeKernel prints a state in words.
func describeKernel(e *command.Env, s *admin.KernelState) {
	w, table := e.Stdout, safetext.Strip(s.Table)
	switch {
	case table == "" && s.State == admin.KernelPaused:
		fmt.Fprintf(w, "paused: the folder of names is empty: %s\n", safetext.Strip(s.Why))
		return
	case table == "":
		fmt.Fprintf(w, "in force: proxies refuse what is blocked; %s of %s in the folder of names\n", words.Number(s.Installed), words.Plural(s.Intended, "block", "blocks"))
		return
	case s.State == admin.KernelTrial:
		fmt.Fprintf(w, "trial: the kernel drops what is blocked (table %s) until %s, which is in %s\n", table, clockTime(s.Until), secondsText(s.Left))
	case s.State == admin.KernelPaused:
		fmt.Fprintf(w, "paused: the kernel drops nothing (table %s): %s\n", table, safetext.Strip(s.Why))
	case s.DryRun:
		fmt.Fprintf(w, "dry run: the kernel counts what it would drop (table %s), and drops nothing\n", table)
	default:
		fmt.Fprintf(w, "in force: the kernel drops what is blocked (table %s)\n", table)
	}
	fmt.Fprintf(w, "  %s of %s in the kernel at the last update; %s more learned behind a proxy, which the kernel cannot drop\n",
		words.Number(s.Installed), words.Plural(s.Intended, "block", "blocks"), words.Number(s.Withheld))
	if len(s.Spared) > 0 {
		fmt.Fprintf(w, "  spared until then: %s\n", safetext.Strip(strings.Join(s.Spared, " ")))
	}
	if s.Error != "" {
		fmt.Fprintf(w, "  the last update failed: %s\n", safetext.Strip(s.Error))
	}
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }

// secondsText returns seconds in words, such as 4m59s.
func secondsText(seconds float64) string {
	return (time.Duration(seconds*float64(time.Second)) + time.Second - 1).Truncate(time.Second).String()
}
