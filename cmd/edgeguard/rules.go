package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/observe"
	near "edgeguard/internal/nearest"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// rulesCommand returns `edgeguard rules` with the commands below it, which change rules while a node
// runs, and undo that.
func rulesCommand(e *command.Env) *cobra.Command {
	c := observe.Rules(e)
	c.AddCommand(rulesSetCommand(e), rulesResetCommand(e), rulesChangedCommand(e), rulesConfirmCommand(e))
	return c
}

// setting is what rules set is asked for.
type setting struct {
	env            *command.Env
	request        admin.ThresholdRequest
	fleet, preview bool
}

func rulesSetCommand(e *command.Env) *cobra.Command {
	s := setting{env: e}
	c := &cobra.Command{
		Use:   "set RULE",
		Short: "Put another threshold of a rule in force, or have it only report, also for a time",
		Long: `set changes a rule on top of the config, without a reload: no count is lost, and it stays
after a restart. --preview changes nothing, and says what the threshold would do to what is counted
now. With --for the config's is in force again after that time, by itself. edgeguard rules changed
shows what is changed, and edgeguard rules reset undoes it.`,
		Example: `  edgeguard rules set login --threshold 30 --preview
  edgeguard rules set login --threshold 30 --for 1h --note "ticket 4711"
  edgeguard rules set scan --action shadow --for 2h
  edgeguard rules set site --threshold 800 --for 1h --fleet`,
		Args: command.OneArgument("the name of a rule"),
		PreRunE: func(*cobra.Command, []string) error {
			if s.request.Threshold == 0 && s.request.Action == "" {
				return command.Usage(errors.New("set: say what: --threshold or --action"))
			}
			return nil
		},
	}
	f := c.Flags()
	f.Uint32Var(&s.request.Threshold, "threshold", 0, "the threshold, `N` in a window")
	f.StringVar(&s.request.Action, "action", "", "`ACTION`, which can be shadow: the rule only reports")
	f.StringVar(&s.request.For, "for", "", "for how long, as `TIME` such as 30m or 2h (default until it is undone)")
	f.StringVar(&s.request.Note, "note", "", "`TEXT` shown with the change")
	f.BoolVar(&s.fleet, "fleet", false, "on all nodes of the fleet")
	f.BoolVar(&s.preview, "preview", false, "change nothing, and say what it would do")
	f.BoolVar(&s.request.Force, "force", false, "also a threshold that would refuse many of the requests")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, args []string) error { return s.run(ctx, node, args[0]) })
}

// run changes the rule, or says what that would do.
func (s *setting) run(ctx context.Context, node *client.Client, name string) error {
	list, err := node.Rules(ctx)
	if err != nil {
		return err
	}
	r, err := ruleNamed(list.Rules, name)
	if err != nil {
		return err
	}
	if s.preview {
		return s.say(ctx, node, r)
	}
	if s.request.IfThreshold = r.Threshold; s.fleet {
		s.request.Scope = admin.ScopeFleet
	}
	after, err := node.SetThreshold(ctx, name, s.request)
	if err != nil {
		return err
	}
	var what []string
	if s.request.Threshold > 0 {
		what = append(what, fmt.Sprintf("threshold %d is in force instead of %d, limit %s", after.Threshold, r.Threshold, after.Unit.Of(after.Limit)))
	}
	if s.request.Action != "" {
		what = append(what, "it only reports, and its blocks stand until their end: edgeguard blocks remove --rule "+safetext.Strip(name))
	}
	fmt.Fprintf(s.env.Stdout, "rule %s: %s\n", safetext.Strip(name), strings.Join(what, "; "))
	ends := after.Overlay != nil && !after.Overlay.Until.IsZero()
	if ends {
		fmt.Fprintf(s.env.Stdout, "until %s, and then the config's again\n", words.Instant(after.Overlay.Until))
	}
	switch {
	case s.fleet:
		fmt.Fprintf(s.env.Stdout, "the other nodes take it within about a second, or hold it: to undo it, edgeguard rules reset --fleet %s\n", safetext.Strip(name))
	case after.Overlay != nil && !ends:
		fmt.Fprintf(s.env.Stdout, "to undo it: edgeguard rules reset %s\n", safetext.Strip(name))
	}
	return nil
}

// ruleNamed returns the rule of a name, or which name may be meant.
func ruleNamed(all []admin.Rule, name string) (*admin.Rule, error) {
	var names []string
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names = append(names, safetext.Strip(all[i].Name))
	}
	if meant, ok := near.Name(name, names); ok {
		return nil, fmt.Errorf("there is no rule %q: did you mean %s?", safetext.Strip(name), meant)
	}
	return nil, fmt.Errorf("there is no rule %q: the node has %s", safetext.Strip(name), strings.Join(names, ", "))
}

// say says what the change would do to what the rule's keys count now, as the console does.
func (s *setting) say(ctx context.Context, node *client.Client, r *admin.Rule) error {
	was, err := node.Outcome(ctx, r.Name, r.Threshold)
	next := was
	if err == nil && s.request.Threshold > 0 {
		next, err = node.Outcome(ctx, r.Name, s.request.Threshold)
	}
	if err != nil {
		return err
	}
	out := s.env.Stdout
	fmt.Fprintf(out, "rule %s: threshold %d → %d, limit %s → %s\n", safetext.Strip(r.Name), was.Threshold, next.Threshold, r.Unit.Amount(was.Limit), r.Unit.Of(next.Limit))
	does := map[string]string{edgeguard.ActionBlock.String(): "would be blocked", edgeguard.ActionDeny.String(): "would be refused"}[r.Action]
	if does == "" || s.request.Action != "" {
		does = "would be reported, and not refused"
	}
	fmt.Fprintf(out, "now over it: %s, and %s before\n", words.Plural(next.Keys, "key", "keys"), words.Number(was.Keys))
	if next.NewKeys != nil && *next.NewKeys > 0 {
		fmt.Fprintf(out, "%s by the next request: %s not blocked now\n", does, words.Plural(*next.NewKeys, "is", "are"))
	}
	fmt.Fprintf(out, "of what is counted %.1f %% is above it instead of %.1f %%; nothing was changed, as of %s\n", 100*next.RequestShare, 100*was.RequestShare, words.Instant(next.AsOf.In(time.UTC)))
	return nil
}
