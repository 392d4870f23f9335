package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/sleep"
	"edgeguard/internal/words"
)

// chosen says which events are shown, and how.
type chosen struct {
	kinds   []string
	rule    string
	address string
	period  command.Period // if none is given, from now on
	follow  bool
	again   time.Duration // is waited before the node is asked again
	most    int           // events, 0 for all

	query client.Past
}

// Events returns the command events.
func Events(p *command.Env) *cobra.Command {
	o := chosen{again: time.Second}
	c := &cobra.Command{
		Use:   "events",
		Short: "Show what happens and happened on a running node: blocks, their ends, changes, alarms",
		Long: `events prints what happens on a node until it is interrupted. With --since or --until
it prints what happened, also before a restart, and ends, unless --follow is given. A
node keeps it on disk, by default for 30 days. Where the node cannot be reached, events
asks again, and misses nothing.

A network finds its addresses, and an address the networks around it.`,
		Example: `  edgeguard events
  edgeguard events --kind block,unblock --rule login
  edgeguard events --since 30d --address 203.0.113.0/24
  edgeguard events --since 2026-03-01T12:00:00Z --until 2026-03-01T12:05:00Z
  edgeguard events --since 1h --follow --json`,
		Args: command.NoArguments,
		PreRunE: func(c *cobra.Command, _ []string) (err error) {
			if err = o.read(); err != nil {
				return command.Usage(err)
			}
			o.query.Since, o.query.Until, err = o.period.Read(c, time.Now())
			return err
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.kinds, "kind", nil, "only events of the `KIND`: "+strings.Join(admin.EventKinds(), ", ")+" (may be repeated)")
	f.StringVar(&o.rule, "rule", "", "only blocks, ends and crossings of the rule `NAME`")
	f.StringVar(&o.address, "address", "", "only events of this `ADDRESS` or inside or around this prefix")
	o.period.Flags(c, "the events")
	f.BoolVar(&o.follow, "follow", false, "print what happens then, too, until it is interrupted")
	f.IntVar(&o.most, "rows", 0, "end after `N` events, 0 for never")
	p.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error { return print(ctx, p, node, &o) })
}

// read reads what the flags choose.
func (o *chosen) read() error {
	for _, kind := range o.kinds {
		if !slices.Contains(admin.EventKinds(), kind) {
			return fmt.Errorf("events: --kind %s: use one of %s", kind, strings.Join(admin.EventKinds(), ", "))
		}
	}
	if o.address != "" {
		prefix, p := call.ParsePrefix("address", o.address)
		if p != nil {
			return fmt.Errorf("events: --address %q: use an address or a prefix, such as 203.0.113.0/24", o.address)
		}
		o.query.Prefix = prefix.String()
	}
	if o.most < 0 {
		return errors.New("events: --rows must not be negative")
	}
	o.query.Kinds, o.query.Rule = strings.Join(o.kinds, ","), o.rule
	o.follow = o.follow || !o.period.Given()
	return nil
}

// print prints events until all or enough were printed, or ctx is done. Once the node has
// answered, it is asked again where it does not.
func print(ctx context.Context, p *command.Env, node *client.Client, o *chosen) error {
	if o.query.Since.IsZero() && o.query.Until.IsZero() {
		page, err := node.Past(ctx, client.Past{Limit: 1})
		if err != nil {
			return err
		}
		o.query.Cursor = page.Newest
	}
	for answered, printed := o.query.Cursor != "", 0; ; {
		page, err := node.Past(ctx, o.query)
		if refused := new(call.Problem); err != nil && (!answered || !o.follow || errors.As(err, &refused)) {
			return err
		}
		for i := range page.Events {
			if err := printEvent(p, &page.Events[i]); err != nil {
				return err
			}
			if printed++; printed == o.most {
				return nil
			}
		}
		if err == nil {
			answered, o.query.Cursor = true, cmp.Or(page.Next, page.Newest)
		}
		switch {
		case page.Next != "":
			continue
		case !o.follow:
			return nil
		}
		if !sleep.For(ctx, o.again) {
			return nil
		}
	}
}

// printEvent prints one event.
func printEvent(p *command.Env, e *admin.Event) error {
	if p.JSON {
		return p.PrintJSON(e)
	}
	colour := map[string]string{admin.EventBlock: output.Red, admin.EventAlarm: output.Red, admin.EventHeld: output.Amber, admin.EventGap: output.Amber}[e.Kind]
	when := strings.Repeat(" ", len(words.Instant(e.Time)))
	if !e.Time.IsZero() {
		when = words.Instant(e.Time)
	}
	kind := fmt.Sprintf("%-8s", clean(e.Kind))
	_, err := fmt.Fprintf(p.Stdout, "%s  %s  %s\n", when, output.Paint(colour, kind, p.Colour && colour != ""), Describe(e))
	return err
}

// Describe says in words what happened.
func Describe(e *admin.Event) string {
	switch {
	case e.Block != nil && e.Kind == admin.EventUnblock:
		return output.Prefix(e.Block.Prefix) + by(e.Block.Origin, e.Block.Reason) + ended(e.Ended)
	case e.Block != nil && e.Kind == admin.EventEnd:
		return output.Prefix(e.Block.Prefix) + " by rule " + clean(e.Block.Rule) + ended(e.Ended)
	case e.Change != nil && e.Kind == admin.EventListed:
		return words.Number(len(e.Change.Prefixes)) + " more prefixes of the change before"
	case e.Change != nil:
		return describeChange(e.Change)
	case e.Crossing != nil:
		c := e.Crossing
		over := "over"
		if c.Again {
			over = "still over"
		}
		what := fmt.Sprintf("%s %s rule %s, %s: %s", clean(c.Key), over, clean(c.Rule), clean(c.Unit.Beside(c.Count, c.Limit)), clean(c.Action))
		if c.Stands != "" {
			what += ", the block by " + clean(c.Stands) + " stands"
		}
		return what
	case e.Block != nil:
		b := e.Block
		what := output.Prefix(b.Prefix) + " by rule " + clean(b.Rule)
		if b.Limit > 0 {
			what += ", " + clean(b.Unit.Beside(b.Count, b.Limit))
		}
		return what + ", until " + words.Instant(b.Until) + by(b.Origin, b.Reason)
	case e.Allowance != nil && e.Kind == admin.EventDisallow:
		return output.Prefix(e.Allowance.Prefix) + by(e.Allowance.Origin, e.Allowance.Reason)
	case e.Allowance != nil:
		until := ""
		if !e.Allowance.Until.IsZero() {
			until = ", until " + words.Instant(e.Allowance.Until)
		}
		return output.Prefix(e.Allowance.Prefix) + until + by(e.Allowance.Origin, e.Allowance.Reason)
	case e.Name == "":
		return clean(e.Text)
	}
	return clean(e.Name) + ": " + clean(e.Text)
}

// by says on which node something was done, and why.
func by(origin, reason string) string {
	text := ", on " + clean(origin)
	if reason != "" {
		text += ": " + clean(reason)
	}
	return text
}

// ended says how a block ended and what it refused.
func ended(e *admin.Ended) string {
	if e == nil {
		return ""
	}
	why := map[string]string{"time": "its time was over, ", "evicted": "it made room for another, ", "allowed": "it was allowed, "}[e.Why] // its unblock says the other
	return ", " + why + words.Number(e.Refused) + " refused here"
}

// describeChange says in words what an operator changed.
func describeChange(a *admin.Audit) string {
	what := strings.TrimRight(clean(cmp.Or(a.User, a.Who))+": "+clean(a.Action)+" "+clean(a.Target), " ")
	if a.Detail != "" {
		what += ", " + clean(a.Detail)
	}
	if a.Result != "ok" {
		what += ": " + clean(a.Result)
	}
	return what
}
