package observe

import (
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
	"edgeguard/frontdoor"
	"edgeguard/internal/words"
)

// The exit codes of status: those that monitoring plugins use for a warning and for a
// critical state.
const (
	Degraded    = 1
	Unreachable = 2
)

// Status returns the command status.
func Status(p *command.Env) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the state of a running node on one screen, and by the exit code",
		Long: `status shows a running node: its version and mode, the conditions that an operator
should know, what it read and decided, blocks, keys and memory, sources, logs,
enforcers, and its fleet.

The exit code is 0 if the node is ready and has no condition, 1 if it is not ready
or has one, and 2 if it does not answer.`,
		Example: `  edgeguard status
  edgeguard status --json | jq '.health[].alarms'
  edgeguard status > /dev/null || echo look at edgeguard`,
		Args: command.NoArguments,
	}
	ask := nodeaddr.Flags(c)
	p.JSONFlag(c, "print JSON, one object")
	c.Flags().DurationVar(&wait, "timeout", 10*time.Second, "wait this `TIME` for the answer")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := nodeaddr.Get(c.Context(), ask, func(ctx context.Context, node *client.Client) (admin.Stats, error) {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			return node.Status(ctx)
		})
		if err != nil {
			return command.Ended{Code: Unreachable, Err: err}
		}
		if err = command.Show(p, s, nil, drawStatus); err == nil && state(&s) != "ok" {
			return command.Ended{Code: Degraded}
		}
		return err
	}
	return c
}

// state says in words how the node is.
func state(s *admin.Stats) string {
	switch {
	case !s.Ready:
		return "not ready"
	case len(s.Alarms()) > 0:
		return "degraded"
	}
	return "ok"
}

// colours are those of a part that is not well.
var colours = map[string]string{admin.HealthBad: output.Red, admin.HealthWarn: output.Amber}

// drawHealth writes a row for each part, the worst first, and below it what is wrong there.
func drawHealth(out io.Writer, colour bool, s *admin.Stats) {
	for i := range s.Health {
		r := &s.Health[i]
		fmt.Fprintf(out, "%s  %-13s  %s\n", output.Paint(colours[r.State], fmt.Sprintf("  %-8s", clean(r.State)), colour && colours[r.State] != ""), clean(r.Part), clean(r.Text))
		for _, a := range r.Alarms {
			fmt.Fprintf(out, "          %s\n", output.Paint(output.Red, "! "+clean(a.Text)+" (since "+words.Instant(a.Since)+")", colour))
		}
	}
}

func drawStatus(p *command.Env, s *admin.Stats) {
	out := p.Stdout
	field := func(name, format string, values ...any) {
		fmt.Fprintf(out, "%s  %s\n", output.Paint(output.Bold, fmt.Sprintf("%-8s", name), p.Colour), fmt.Sprintf(format, values...))
	}
	colour := output.Red
	if state(s) == "ok" {
		colour = ""
	}
	field("node", "%s, edgeguard %s, up %s", clean(s.Node), clean(s.Version), words.Span(max(0, s.Time.Sub(s.Started)).Round(time.Second)))
	field("state", "%s", output.Paint(colour, state(s), p.Colour && colour != ""))
	drawHealth(out, p.Colour, s)
	for i := range s.Needs {
		field("look at", "%s", needLine(&s.Needs[i]))
	}
	for i := range s.Learned {
		if l := &s.Learned[i]; l.Pending {
			field("learns", "%s: %s", clean(l.Rule), l)
		}
	}
	e := &s.Events
	field("events", "%s decided: %s passed (%s spared), %s denied%s, %s would be denied%s; %s", words.Number(e.Decided), words.Number(e.Passed), words.Number(e.Spared),
		words.Number(e.Denied), denied(s), words.Number(e.Shadowed), unenforced(s), words.Plural(uncountedSince(&admin.Stats{}, s), "request was not counted", "requests were not counted"))
	field("blocks", "%s of at most %s, %s by hand; %s", words.Number(s.V4+s.V6), words.Number(s.MaxBlocks), words.Number(s.ByHand), words.Plural(s.Allowances, "allowance", "allowances"))
	if len(s.Imports.Feeds) > 0 {
		field("imports", "%s of at most %s entries of %s, on this node only: edgeguard blocklists", words.Number(s.Imports.Blocks), words.Number(s.Imports.Most), words.Plural(len(s.Imports.Feeds), "list", "lists"))
	}
	for i := range s.Elsewhere {
		field("others", "%s", elsewhereLine(&s.Elsewhere[i]))
	}
	if b := s.Bouncers; b != nil {
		field("bouncers", "%s", bouncersLine(b))
	}
	if len(s.Notified) > 0 {
		field("told", "%s", receiversLine(s.Notified))
	}
	field("keys", "%s in %s of %s MiB", words.Number(s.Tables.Keys), words.Number(s.Tables.Used>>20), words.Number(s.Tables.Limit>>20))
	drawSources(out, p.Colour, s)
	drawEnforcers(out, p.Colour, s)
	drawHAProxies(out, s)
	drawCrowdSec(out, s.CrowdSec)
}

// needLine writes what an operator should look at, and the command for it.
func needLine(n *admin.Need) string {
	line := strings.TrimSuffix(clean(n.Text), ".")
	if n.Rule != "" {
		return line + ": edgeguard rules " + clean(n.Rule) // the rule's figures
	}
	for i, prefix := range n.Prefixes {
		line += []string{": edgeguard explain ", ", "}[min(i, 1)] + prefix.Addr().String()
	}
	return line
}

// unenforced says how many of those that would be denied mode monitor alone lets pass: rules that only watch make the rest.
func unenforced(s *admin.Stats) string {
	if !s.Monitor || s.Events.WouldBeRefused == s.Events.Shadowed {
		return ""
	}
	return fmt.Sprintf(" (%s but for mode monitor)", words.Number(s.Events.WouldBeRefused))
}

// denied says of the denied events what became of them, where logs say it: a verdict on a
// line comes too late to refuse anything.
func denied(s *admin.Stats) string {
	var turned, served uint64
	for i := range s.Logs {
		turned, served = turned+s.Logs[i].TurnedAway, served+s.Logs[i].Served
	}
	if turned+served == 0 {
		return ""
	}
	return fmt.Sprintf(" (of these, logs show %s turned away and %s served)", words.Number(turned), words.Number(served))
}

// drawHAProxies writes the HAProxies that are connected by the peers protocol.
func drawHAProxies(out io.Writer, s *admin.Stats) {
	for i := range s.HAProxies {
		l := &s.HAProxies[i]
		fmt.Fprintf(out, "\nHAProxy at %s: %s connected\n", clean(l.Address), words.Number(len(l.HAProxies)))
		for _, h := range l.HAProxies {
			fmt.Fprintf(out, "  %s, pid %d, since %s: %s entries received, %s steps counted, %s entries taught\n",
				clean(h.Name), h.PID, words.Instant(h.Since), words.Number(h.Updates), words.Number(h.Counted), words.Number(h.Taught))
			for _, wrong := range h.Wrong {
				fmt.Fprintf(out, "    ! %s\n", clean(wrong))
			}
		}
	}
}

// drawSources writes where events come from, and what was read of logs.
func drawSources(out io.Writer, colour bool, s *admin.Stats) {
	if len(s.Sources) == 0 {
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "source")
	t.Numbers(output.Plain, "events")
	t.Numbers(output.Amber, "skipped")
	t.Numbers(output.Red, "lost")
	t.Numbers(output.Plain, "bytes behind")
	t.Texts(output.Plain, "last event")
	for _, source := range s.Sources {
		row := []string{source.Name, words.Number(source.Events), some(source.Malformed), some(source.Dropped), "", ""}
		for i := range s.Logs {
			if l := &s.Logs[i]; source.Name == "log "+l.Name {
				if l.Files > 0 {
					row[0] += ", " + words.Plural(l.Files, "file", "files")
				}
				row = append(row[:2], some(l.Skipped), lost(l), some(uint64(max(0, l.Behind))), instant(l.Last))
			}
		}
		for i := range s.HAProxies {
			if l := &s.HAProxies[i]; source.Name == "haproxy "+l.Address {
				row[5] = instant(l.LastCounted)
			}
		}
		t.Row(row...)
	}
	fmt.Fprintln(out)
	t.Print(out, colour)
	for i := range s.Logs {
		l := &s.Logs[i]
		if l.Suppressed > 0 {
			fmt.Fprintf(out, "log %s: it says that %s\n", clean(l.Name), words.Suppressed(l.Suppressed))
		}
		for _, unread := range l.Unread {
			fmt.Fprintf(out, "log %s: %s\n", clean(l.Name), clean(unread))
		}
	}
	for _, source := range s.Sources {
		if source.FrontDoor != "" {
			fmt.Fprintf(out, "%s: its clients are %s, so nobody in it is blocked. %s\n", source.Name, frontdoor.Whose(source.FrontDoor), frontdoor.Fix)
		}
	}
}

// lost says how many lines of a log never arrived, as far as it is known: the kernel counts
// them by UDP alone.
func lost(l *admin.Log) string {
	switch {
	case l.Dropped > l.Lost:
		return words.Number(l.Lost) + " to " + words.Number(l.Dropped)
	case l.Lost > 0 && strings.HasPrefix(l.Name, "unixgram:"):
		return words.Number(l.Lost) + " or more"
	}
	return some(l.Lost)
}

// drawEnforcers writes where blocks are put in force.
func drawEnforcers(out io.Writer, colour bool, s *admin.Stats) {
	if len(s.Enforcers) == 0 {
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "enforcer")
	t.Numbers(output.Plain, "intended", "installed", "packets dropped")
	t.Texts(output.Plain, "last update")
	t.Texts(output.Red, "error")
	for i := range s.Enforcers {
		e := &s.Enforcers[i]
		dropped := "-"
		if p := e.Packets; p != nil {
			dropped = words.Number(p.Dropped)
		}
		installed := words.Number(e.Installed)
		if e.KeptBy != "" {
			installed = "by " + e.KeptBy
		}
		t.Row(e.Name, words.Number(e.Intended), installed, dropped, instant(e.Success), e.Error)
	}
	fmt.Fprintln(out)
	t.Print(out, colour)
}

// instant writes a time, or that there was none yet.
func instant(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return words.Instant(t)
}
