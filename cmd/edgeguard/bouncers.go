package main

import (
	"context"
	"fmt"
	"strconv"
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

// bouncersCommand returns `edgeguard bouncers` with the commands below it, for the keys of
// CrowdSec's bouncers.
func bouncersCommand(e *command.Env) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "bouncers",
		Short: "Make, list and remove the keys of CrowdSec's bouncers",
		Long: `Bouncers of CrowdSec enforce edgeguard's blocks where the config has crowdsec.lapi: each
asks edgeguard as it would ask CrowdSec, with a key of its own. A key opens nothing
else, and edgeguard keeps only its hash.`,
		Example: "  edgeguard bouncers add edge1-firewall\n  edgeguard bouncers list\n  edgeguard bouncers remove edge1-firewall",
	}, bouncersAddCommand(e), bouncersListCommand(e), bouncersRemoveCommand(e))
}

func bouncersAddCommand(e *command.Env) *cobra.Command {
	var request admin.BouncerRequest
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a bouncer's key, and show it once",
		Long: `add makes a key and prints it: it goes into the bouncer's file as api_key. It cannot be
shown again.

Who has it can read all blocks, and change nothing. A bouncer that filters packets is
not given blocks that were learned behind a proxy, since it never sees these addresses:
edgeguard knows it by its User-Agent, or --kernel says whether it is one.`,
		Example: "  edgeguard bouncers add edge1-firewall\n  edgeguard bouncers add edge1-script --kernel yes",
		Args:    command.OneArgument("a name for the bouncer, such as edge1-firewall"),
	}
	c.Flags().StringVar(&request.Kernel, "kernel", "auto", "whether the bouncer filters packets: `auto`, yes or no")
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		request.Name = args[0]
		added, err := node.AddBouncer(ctx, request)
		return command.Show(e, added, err, printBouncerKey)
	})
}

// printBouncerKey prints a new key. Alone on the standard output, it can be assigned in a shell.
func printBouncerKey(e *command.Env, a *admin.BouncerKey) {
	fmt.Fprintln(e.Stdout, safetext.Strip(a.Key))
	fmt.Fprintf(e.Stderr, "That is the key of %s: it is not shown again. It goes into the bouncer's file as api_key.\n", safetext.Strip(a.Name))
	if len(a.Listening) == 0 {
		fmt.Fprintln(e.Stderr, "The node's config has no crowdsec.lapi, so no bouncer can connect: see edgeguard snippets crowdsec-bouncer.")
		return
	}
	for _, at := range a.Listening {
		fmt.Fprintf(e.Stderr, "  api_url: %s\n", safetext.Strip(at))
	}
}

func bouncersListCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the bouncers, and when each last asked",
		Long: `list shows each key, and what the bouncers with it did since the start of the node:
when the last asked, from where, and how many changes the one furthest behind has not
been told.`,
		Example: "  edgeguard bouncers list",
		Args:    command.NoArguments,
	}
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		all, err := node.Bouncers(ctx)
		return command.Show(e, all, err, printBouncers)
	})
}

// printBouncers prints the bouncers in words.
func printBouncers(e *command.Env, s *admin.BouncerList) {
	if len(s.Listening) == 0 {
		fmt.Fprintln(e.Stdout, "No bouncer can connect: the node's config has no crowdsec.lapi.")
	}
	for _, at := range s.Listening {
		fmt.Fprintf(e.Stdout, "listening at %s\n", safetext.Strip(at))
	}
	fmt.Fprintf(e.Stdout, "%s in force for bouncers, %s of them more than one address; %s refused for their key\n",
		words.Plural(s.Decisions, "decision", "decisions"), words.Number(s.Ranges), words.Plural(int(s.Refused), "request", "requests"))
	if len(s.Bouncers) == 0 {
		fmt.Fprintln(e.Stdout, "There are no keys: edgeguard bouncers add NAME makes one.")
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "NAME", "LAST PULL", "FROM")
	t.Numbers(output.Plain, "BEHIND")
	t.Texts(output.Plain, "PACKETS")
	t.Texts(output.Faint, "USER AGENT")
	for _, b := range s.Bouncers {
		t.Row(b.Name, lastPull(&b, time.Now()), bouncerAddress(&b), strconv.FormatUint(b.Behind, 10), filtersPackets(&b), b.UserAgent)
	}
	t.Print(e.Stdout, e.Colour)
}

// lastPull says when a bouncer last asked.
func lastPull(b *admin.Bouncer, now time.Time) string {
	if b.LastPull.IsZero() {
		return "not since the start"
	}
	text := max(now.Sub(b.LastPull), 0).Round(time.Second).String() + " ago"
	if b.Silent {
		text += ", silent"
	}
	return text
}

func bouncerAddress(b *admin.Bouncer) string {
	if b.Addresses > 1 {
		return fmt.Sprintf("%s and %d more", b.Address, b.Addresses-1)
	}
	return b.Address
}

// filtersPackets says whether a bouncer filters packets.
func filtersPackets(b *admin.Bouncer) string {
	switch {
	case b.Packets:
		return "yes"
	case b.Kernel == "auto" && b.UserAgent == "":
		return "unknown"
	}
	return "no"
}

func bouncersRemoveCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a bouncer's key",
		Long: `remove has the bouncers with this key refused from now on. What they enforce already
stays in force there until its time is over, or until they are stopped.`,
		Example: "  edgeguard bouncers remove edge1-firewall",
		Args:    command.OneArgument("the name of a bouncer"),
	}
	e.JSONFlag(c, "print JSON, one object")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		removed, err := node.RemoveBouncer(ctx, args[0])
		return command.Show(e, removed, err, func(e *command.Env, r *admin.BouncerRemoved) {
			fmt.Fprintf(e.Stdout, "removed: bouncers with the key of %s are refused\n", safetext.Strip(r.Name))
		})
	})
}
