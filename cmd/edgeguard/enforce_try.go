package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/enforce/nftables"
	"edgeguard/internal/safetext"
)

func enforceTryCommand(e *command.Env) *cobra.Command {
	var spare []string
	c := &cobra.Command{
		Use:   "try [TIME]",
		Short: "Have the kernel drop what is blocked for a time, unless you confirm it",
		Long: `try puts the kernel's packet filter in force for a time (5m by default, 10s to 1h),
and returns. Then it is empty again, unless you run edgeguard enforce confirm. Who has
an ssh connection to this host is not dropped meanwhile.

The end needs nobody: nothing that try puts into the kernel lasts longer than the trial.
A restart of edgeguard ends it, too. After that the kernel drops nothing until
edgeguard enforce resume, or another trial that you confirm.`,
		Example: `  edgeguard enforce try 5m
  # can you open a second connection, from everywhere you need to? then:
  edgeguard enforce confirm`,
		Args: command.AtMostOneArgument("try: expected at most one time, such as 5m"),
	}
	e.JSONFlag(c, "print JSON, one object")
	c.Flags().StringSliceVar(&spare, "spare", nil, "do not drop this `ADDRESS` meanwhile, beside those of ssh connections; may be repeated")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		s, err := node.TryKernel(ctx, admin.TrialRequest{For: strings.Join(args, ""), Spare: spared(spare)})
		return command.Show(e, s, err, trialBegan)
	})
}

// spared returns whom the command asks to be spared: who was named, who called it, and
// who holds a connection of an ssh server that only root sees. The node finds others
// by itself.
func spared(named []string) []string {
	all := slices.Clone(named)
	if peer, ok := nftables.SSHCaller(os.Getenv("SSH_CONNECTION")); ok {
		all = append(all, peer.String())
	}
	if peers, err := nftables.SSHPeersOfHost(nftables.DefaultSSHPort); err == nil {
		for _, peer := range peers.Addrs {
			all = append(all, peer.String())
		}
	}
	if len(all) > admin.MostSpared {
		all = all[:admin.MostSpared]
	}
	return all
}

// trialBegan says that a trial runs, and what to do.
func trialBegan(e *command.Env, s *admin.KernelState) {
	fmt.Fprintf(e.Stdout, "The kernel drops what is blocked until %s (%s). Then it drops nothing, unless you confirm.\n", clockTime(s.Until), secondsText(s.Left))
	if len(s.Spared) == 0 {
		fmt.Fprintf(e.Stdout, "  No ssh connection was found, so no address is spared meanwhile: --spare ADDRESS spares yours.\n")
	} else {
		fmt.Fprintf(e.Stdout, "  Spared meanwhile: %s\n", safetext.Strip(strings.Join(s.Spared, " ")))
	}
	if s.SparedMore {
		fmt.Fprintf(e.Stdout, "  There are more ssh connections, which are not spared.\n")
	}
	fmt.Fprint(e.Stdout, "  Now open a new connection to this host, from everywhere you need to. If that works:\n    edgeguard enforce confirm\n"+
		"  If not, wait: the kernel ends it by itself, also without edgeguard.\n")
}
