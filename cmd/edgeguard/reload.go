package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/internal/safetext"
)

func reloadCommand(e *command.Env) *cobra.Command {
	return nodeaddr.Asks(&cobra.Command{
		Use:   "reload",
		Short: "Have a running node read its config again, and print what changed",
		Long: `reload has a running node read its config again, as SIGHUP does, and prints what
changed of its mode and rules, and which pieces (conf.d/*.yaml) are new or gone. A
config with errors changes nothing: the errors are printed, and the exit code is 1. It
requires an operator: use the unix socket.`,
		Example: `  edgeguard check && edgeguard reload`,
		Args:    command.NoArguments,
	}, func(ctx context.Context, node *client.Client, _ []string) error { return reload(ctx, e, node) })
}

func reload(ctx context.Context, e *command.Env, node *client.Client) error {
	before, err := readInForce(ctx, node)
	if err != nil {
		return err
	}
	if err := node.Reload(ctx); err != nil {
		return err
	}
	after, err := readInForce(ctx, node)
	if err != nil {
		return fmt.Errorf("the config is reloaded, and what changed is not known: %w", err)
	}
	fmt.Fprintln(e.Stdout, "the config is reloaded")
	for _, line := range configChanges(before, after) {
		fmt.Fprintln(e.Stdout, "  "+safetext.Strip(line))
	}
	return nil
}

// inForce is what a node shows of its config.
type inForce struct {
	monitor bool
	rules   []admin.Rule
	pieces  []string // files of conf.d
	// beside are the systems beside the node: what each is, and its name.
	beside []string
	// silenced are the rules of which the last reload left blocks.
	silenced []admin.Silenced
}

func readInForce(ctx context.Context, node *client.Client) (inForce, error) {
	s, err := node.Status(ctx)
	if err != nil {
		return inForce{}, err
	}
	list, err := node.Rules(ctx)
	c := inForce{monitor: s.Monitor, rules: list.Rules, beside: beside(&s)}
	if s.Reload != nil {
		c.pieces, c.silenced = s.Reload.Pieces, s.Reload.Silenced
	}
	return c, err
}

// beside returns the systems beside a node that a reload adds and removes.
func beside(s *admin.Stats) (names []string) {
	for _, f := range s.Imports.Feeds {
		if f.State != "" { // else it is what is left of one
			names = append(names, "list "+f.Name)
		}
	}
	for _, e := range s.Enforcers {
		names = append(names, "enforcer "+e.Name)
	}
	for _, n := range s.Notified {
		names = append(names, "receiver "+n.Name)
	}
	if s.Bouncers != nil {
		names = append(names, "crowdsec.lapi")
	}
	if c := s.CrowdSec; c != nil && c.Alerts != nil {
		names = append(names, "crowdsec.alerts")
	}
	return names
}

// configChanges says in words how two configs differ in mode, rules, the systems beside the node and pieces.
func configChanges(before, after inForce) (lines []string) {
	if before.monitor != after.monitor {
		lines = append(lines, "mode: "+modeOf(after)+" instead of "+modeOf(before))
	}
	named := func(rules []admin.Rule, name string) int {
		return slices.IndexFunc(rules, func(r admin.Rule) bool { return r.Name == name })
	}
	for i := range before.rules {
		if named(after.rules, before.rules[i].Name) < 0 {
			lines = append(lines, "rule "+before.rules[i].Name+": removed")
		}
	}
	for i := range after.rules {
		k := named(before.rules, after.rules[i].Name)
		if k < 0 {
			lines = append(lines, "rule "+after.rules[i].Name+": added")
			continue
		}
		for _, difference := range ruleDifferences(&before.rules[k], &after.rules[i]) {
			lines = append(lines, "rule "+after.rules[i].Name+": "+difference)
		}
	}
	lines = append(lines, namesChanged(before.beside, after.beside)...)
	lines = append(lines, namesChanged(before.pieces, after.pieces)...)
	for _, s := range after.silenced {
		lines = append(lines, s.String())
	}
	if len(lines) == 0 {
		return []string{"mode and rules are as before"}
	}
	return lines
}

// namesChanged says which names are gone, and which are new.
func namesChanged(before, after []string) (lines []string) {
	for _, name := range before {
		if !slices.Contains(after, name) {
			lines = append(lines, name+": removed")
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			lines = append(lines, name+": added")
		}
	}
	return lines
}

func modeOf(c inForce) string {
	if c.monitor {
		return "monitor"
	}
	return "enforce"
}

// ruleDifferences says how a rule differs.
func ruleDifferences(before, after *admin.Rule) (lines []string) {
	for _, f := range []struct {
		name     string
		was, now any
	}{
		{"threshold", before.Threshold, after.Threshold},
		{"guard", before.Guard, after.Guard},
		{"window in seconds", before.Window, after.Window},
		{"kind", before.Kind, after.Kind},
		{"key", before.Key, after.Key},
		{"distinct", before.Distinct, after.Distinct},
		{"action", before.Action, after.Action},
		{"block_for in seconds", before.BlockFor, after.BlockFor},
		{"scope", before.Scope, after.Scope},
		{"candidates", candidateThresholds(before), candidateThresholds(after)},
	} {
		if !reflect.DeepEqual(f.was, f.now) {
			lines = append(lines, fmt.Sprintf("%s %v instead of %v", f.name, f.now, f.was))
		}
	}
	return lines
}

func candidateThresholds(r *admin.Rule) (thresholds []uint32) {
	for _, c := range r.Candidates {
		thresholds = append(thresholds, c.Threshold)
	}
	return thresholds
}
