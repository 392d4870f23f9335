package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/blocks"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

// Attacks returns the command attacks.
func Attacks(e *command.Env) *cobra.Command {
	var period command.Period
	var from, to time.Time
	var members bool
	c := &cobra.Command{
		Use:   "attacks [ID]",
		Short: "List the attacks on a running node, or the networks and blocks of one",
		Long: `attacks lists who attacks: a network with the rules that it went over, or a group of ten and
more networks that went over one rule within ten minutes. Those that go on are first, and then
those of which most is refused. Without --since these are the attacks of the last hour.

A crowd is many addresses that went over a rule together whose key has no address.

With an ID it lists the networks of one attack and its blocks in force, or who came to a crowd.`,
		Example: `  edgeguard attacks
  edgeguard attacks --since 24h
  edgeguard attacks login_203.0.113.0_20260301T120000Z
  edgeguard attacks login-crowd_everybody-24a5ba6bb2d0e8b6_20260301T120000Z --members
  edgeguard attacks --json`,
		Args: command.AtMostOneArgument("attacks: expected one ID, or none for the list"),
		PreRunE: func(c *cobra.Command, args []string) (err error) {
			if members && len(args) == 0 {
				return command.Usage(errors.New("attacks: --members: name the attack"))
			}
			from, to, err = period.Read(c, time.Now())
			return err
		},
	}
	period.Flags(c, "the attacks")
	e.JSONFlag(c, "print JSON, one attack a line")
	c.Flags().BoolVar(&members, "members", false, "of the attack ID, print who came, one address or IPv6 /64 a line, as blocks import reads it: who succeeded or may be a customer is a comment")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error {
		if len(args) == 1 && members {
			return printMembers(ctx, e, node, args[0])
		}
		if len(args) == 1 {
			one, err := node.Attack(ctx, args[0])
			return command.Show(e, one, err, printAttack)
		}
		list, err := node.Attacks(ctx, from, to)
		return command.ShowAll(e, list.Attacks, err, printAttacks)
	})
}

// printMembers prints all members of a crowd.
func printMembers(ctx context.Context, e *command.Env, node *client.Client, id string) error {
	for cursor := ""; ; {
		page, err := node.AttackPage(ctx, id, cursor)
		if err != nil {
			return err
		}
		if page.Crowd == nil {
			return fmt.Errorf("%s is no crowd: edgeguard attacks %s lists its networks", clean(id), clean(id))
		}
		for i := range page.Comers {
			fmt.Fprintln(e.Stdout, memberLine(&page.Comers[i]))
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// memberLine is a member as blocks import reads it. Who had better not be blocked is a comment.
func memberLine(m *admin.Comer) string {
	line := output.Prefix(m.Prefix)
	if m.MayBeWanted() {
		line = "# " + line + " " + m.Did()
	}
	if m.MayBeCustomer {
		line += ", may be a customer"
	}
	return line
}

// printAttacks prints a list of attacks.
func printAttacks(e *command.Env, all []admin.Attack) {
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "no attacks")
		return
	}
	t := &output.Table{Screen: e.Width}
	for i := range all {
		a := &all[i]
		t.Cells(append(attackCells(a), output.Text(output.Faint, "id", a.ID))...)
	}
	t.Print(e.Stdout, e.Colour)
}

// drawAttacks prints attacks that go on, within a screen.
func drawAttacks(out io.Writer, e *command.Env, all []admin.Attack) {
	t := &output.Table{Screen: e.Width}
	for i := range all {
		cells := attackCells(&all[i])
		t.Cells(cells[:len(cells)-1]...)
	}
	t.Print(out, e.Colour)
}

// attackCells are a row of an attack.
func attackCells(a *admin.Attack) []output.Cell {
	state := "goes on"
	if !a.GoesOn() {
		state = "ended " + words.Instant(a.Ended)
	}
	refused := words.Number(a.Refused)
	switch {
	case a.Watched:
		refused = "watched"
	case a.Denied && a.Refused == 0:
		refused = "denied" // how many is known of the rule alone
	}
	if a.Crowd != nil {
		a.Addresses = a.Crowd.Members + a.Crowd.More
	}
	return []output.Cell{
		output.Text(output.Red, "attack", who(a)), output.Text(output.Plain, "rules", strings.Join(a.Rules, ", ")),
		output.Number(output.Plain, "refused", refused), output.Number(output.Plain, "addresses", words.Number(a.Addresses)),
		output.Number(output.Plain, "blocks", words.Number(a.Blocks)), output.Number(output.Plain, "for", words.Left(a.Last.Sub(a.Began))), output.Text(output.Plain, "", state),
	}
}

// printAttack prints an attack with its networks and blocks.
func printAttack(e *command.Env, d *admin.AttackDetail) {
	if d.Into != "" {
		fmt.Fprintln(e.Stdout, "it became part of "+clean(d.ID))
	}
	printAttacks(e, []admin.Attack{d.Attack})
	if len(d.Members) > 1 {
		fmt.Fprintln(e.Stdout)
		t := &output.Table{Screen: e.Width}
		for _, m := range d.Members {
			t.Cells(output.Text(output.Plain, "network", output.Prefix(m.Network)), output.Number(output.Plain, "refused", words.Number(m.Refused)), output.Text(output.Plain, "since", words.Instant(m.Began)))
		}
		t.Print(e.Stdout, e.Colour)
		fmt.Fprintln(e.Stdout, "These networks went over the same rule at the same time; they may have nothing else in common.")
	}
	if d.Crowd != nil {
		printCrowd(e, d)
	}
	if len(d.Active) == 0 {
		return
	}
	fmt.Fprintln(e.Stdout)
	t := &output.Table{Screen: e.Width}
	for i := range d.Active {
		blocks.AddRow(t, "blocked", &d.Active[i].Block, d.AsOf)
	}
	t.Print(e.Stdout, e.Colour)
	if d.Next != "" {
		fmt.Fprintln(e.Stdout, "and more: edgeguard blocks")
	}
}

// printCrowd prints who came to a crowd: agents and members.
func printCrowd(e *command.Env, d *admin.AttackDetail) {
	c := d.Crowd
	if c.Members == 0 {
		fmt.Fprintln(e.Stdout, "\nwho came is not known: it was before this node started, or too many other keys are further above their limits")
		return
	}
	fmt.Fprintf(e.Stdout, "\n%s. edgeguard blocks none of them by itself.\n", clean(c.SaysWho()))
	t := &output.Table{Screen: e.Width}
	for _, a := range c.Agents {
		t.Cells(output.Text(output.Plain, "user agent", a.Agent), output.Number(output.Plain, "of all at least", words.PercentShare(a.Share)))
	}
	t.Print(e.Stdout, e.Colour)
	t = &output.Table{Screen: e.Width}
	for i := range d.Comers {
		m := &d.Comers[i]
		customer := ""
		if m.MayBeCustomer {
			customer = "may be a customer"
		}
		t.Cells(output.Text(output.Plain, "member", output.Prefix(m.Prefix)), output.Text(output.Plain, "since", words.Instant(m.Since)), output.Text(output.Plain, "", m.Did()), output.Text(output.Amber, "", customer))
	}
	fmt.Fprintln(e.Stdout)
	t.Print(e.Stdout, e.Colour)
	if d.Next != "" {
		fmt.Fprintln(e.Stdout, "and more: --members prints all, one a line")
	}
}

// who names the networks of an attack, or says what a crowd does.
func who(a *admin.Attack) string {
	if a.Crowd != nil {
		return a.Crowd.Says
	}
	if len(a.Networks) == 0 {
		return ""
	}
	first := output.Prefix(a.Networks[0])
	if a.NetworkCount > 1 {
		return words.Plural(a.NetworkCount, "network", "networks") + " such as " + first
	}
	return first
}
