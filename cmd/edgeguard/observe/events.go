package observe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/admin/watch"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
)

// again is how long events waits before it connects again.
const again = time.Second

// chosen says which events are shown, and how.
type chosen struct {
	kinds  []string
	rule   string
	within netip.Prefix // an event's prefix overlaps it; all if it is not valid
	since  time.Time    // events before it are left out; zero for those from now on
	after  string       // the ID of the last event that was seen
	most   int          // events, 0 for all
}

// Events returns the command events.
func Events(p *command.Env) *cobra.Command {
	var o chosen
	var address, since string
	c := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens on a running node: blocks, allowances, alarms",
		Long: `events prints what happens on a node until it is interrupted. Where the connection is
lost, as at a restart of the node, it connects again and prints what it missed; an
event "gap" says that the node no longer knows that.

A node keeps its last 4,096 events: --since prints those of the past first.`,
		Example: `  edgeguard events
  edgeguard events --kind block,unblock --rule login
  edgeguard events --since 1h --address 203.0.113.0/24
  edgeguard events --since 1h --rows 10 --json`,
		Args: command.NoArguments,
		PreRunE: func(*cobra.Command, []string) error {
			if err := o.read(address, since); err != nil {
				return command.Usage(err)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.kinds, "kind", nil, "only events of the `KIND`: "+strings.Join(admin.EventKinds(), ", ")+" (may be repeated)")
	f.StringVar(&o.rule, "rule", "", "only blocks of the rule `NAME`")
	f.StringVar(&address, "address", "", "only blocks and allowances of this `ADDRESS` or inside or around this prefix")
	f.StringVar(&since, "since", "", "also print the events of the last `TIME`, such as 10m, 24h or 30d")
	f.IntVar(&o.most, "rows", 0, "end after `N` events, 0 for never")
	p.JSONFlag(c, "print JSON, one object per line")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error { return follow(ctx, p, node, &o) })
}

// read reads what the flags choose.
func (o *chosen) read(address, since string) error {
	for _, kind := range o.kinds {
		if !slices.Contains(admin.EventKinds(), kind) {
			return fmt.Errorf("events: --kind %s: use one of %s", kind, strings.Join(admin.EventKinds(), ", "))
		}
	}
	if address != "" {
		prefix, err := netip.ParsePrefix(address)
		if addr, addrErr := netip.ParseAddr(address); addrErr == nil {
			prefix, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("events: --address %q: use an address or a prefix, such as 203.0.113.0/24", address)
		}
		o.within = prefix
	}
	if o.most < 0 {
		return errors.New("events: --rows must not be negative")
	}
	if since == "" {
		return nil
	}
	span, err := call.ParseSpan(since)
	if err != nil || span < 0 {
		return fmt.Errorf("events: --since %q: use a duration, such as 10m, 24h or 30d", since)
	}
	o.since, o.after = time.Now().Add(-span), watch.Oldest
	return nil
}

// follow prints events until ctx is done or enough were printed. It connects again if
// the stream ends; only an error before the first one is returned.
func follow(ctx context.Context, p *command.Env, node *client.Client, o *chosen) error {
	printed, begin := 0, o.after
	for {
		var lost error
		for event, err := range node.Events(ctx, strings.Join(o.kinds, ","), &o.after) {
			if lost = err; err != nil {
				break
			}
			if !o.matches(&event) {
				continue
			}
			if err := printEvent(p, &event); err != nil {
				return err
			}
			if printed++; printed == o.most {
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if refused := new(call.Problem); errors.As(lost, &refused) || o.after == begin {
			return lost
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// matches reports whether an event is to be printed. A gap always is.
func (o *chosen) matches(e *admin.Event) bool {
	if e.Kind == admin.EventGap {
		return true
	}
	if e.Time.Before(o.since) {
		return false
	}
	if o.rule != "" && (e.Block == nil || e.Block.Rule != o.rule) {
		return false
	}
	if !o.within.IsValid() {
		return true
	}
	return e.Block != nil && o.within.Overlaps(e.Block.Prefix) || e.Allowance != nil && o.within.Overlaps(e.Allowance.Prefix)
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
	_, err := fmt.Fprintf(p.Stdout, "%s  %s  %s\n", when, output.Paint(colour, kind, p.Colour && colour != ""), describeEvent(e))
	return err
}

// describeEvent says in words what happened.
func describeEvent(e *admin.Event) string {
	switch {
	case e.Block != nil && e.Kind == admin.EventUnblock:
		return output.Prefix(e.Block.Prefix) + by(e.Block.Origin, e.Block.Reason)
	case e.Block != nil:
		b := e.Block
		what := output.Prefix(b.Prefix) + " by rule " + clean(b.Rule)
		if b.Limit > 0 {
			what += fmt.Sprintf(", count %s of %s", words.Number(b.Count), words.Number(b.Limit))
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
