package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/config"
	"edgeguard/crawlers/lookup"
	"edgeguard/node"
	"edgeguard/node/neighbours"
)

// checkCommand returns `edgeguard check`: it prints all that is wrong with a config, or
// what is in effect.
func checkCommand(e *command.Env) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Check a config: print every error with its line, or the effective config",
		Long: `check reads a config and prints every error with its line and its fix. A config
without errors is printed in full, with all defaults, with what its pieces add
(conf.d/*.yaml beside it) and with each rule's limit beside its threshold. Warnings go to standard error, and so does what operators
changed of the rules while the node ran (edgeguard rules changed). With --json it prints
one object: the problems, the warnings, and each rule's limit.

Without a config it prints the defaults, as a file to start from.`,
		Example: `  edgeguard check --config edgeguard.yaml
  edgeguard check --json | jq '.problems[]'
  edgeguard check > edgeguard.yaml       # the defaults, where there is no config`,
		Args: command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			doctor.Adopt(c.Context(), doctor.ReadUnit, cmp.Or(file, command.DefaultConfig))
			if e.JSON {
				return printCheckJSON(c.Context(), e, file)
			}
			return printCheck(c.Context(), e, file)
		},
	}
	c.Flags().StringVar(&file, "config", "", "config `FILE` (default "+command.DefaultConfig+" if it is there)")
	e.JSONFlag(c, "print JSON, one object")
	return c
}

func printCheck(ctx context.Context, e *command.Env, file string) error {
	name, err := command.FindConfig(file)
	if err != nil {
		return err
	}
	if name == "" {
		fmt.Fprintf(e.Stderr, "no config at %s: these are the defaults, as a file to start from\n", command.DefaultConfig)
		_, err = fmt.Fprint(e.Stdout, config.Default().YAML())
		return err
	}
	c, err := loadChecked(name)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(e.Stderr, "warning: %s\n", w)
	}
	for _, text := range slices.Concat(doctor.OpenSecrets(c), doctor.OldHosts(ctx, c), doctor.FrontDoors(c)) {
		fmt.Fprintf(e.Stderr, "warning: %s\n", text)
	}
	for _, piece := range c.Pieces {
		fmt.Fprintf(e.Stderr, "%s\n", piece)
	}
	fmt.Fprintf(e.Stderr, "mode %s\n", c.Refuses())
	verified, err := lookup.Describe(c.Crawlers)
	if err != nil {
		return err
	}
	for _, text := range verified {
		fmt.Fprintf(e.Stderr, "crawlers: %s\n", text)
	}
	for _, text := range c.OutageNotes() {
		fmt.Fprintf(e.Stderr, "outages: %s\n", text)
	}
	for _, text := range overlaidOn(c) {
		fmt.Fprintf(e.Stderr, "overlay: %s\n", text)
	}
	_, err = fmt.Fprint(e.Stdout, c.YAML())
	return err
}

// loadChecked reads a config with all the checks of a node's start, and with the templates of its
// notifications, without which a node starts.
func loadChecked(name string) (*config.Config, error) {
	c, err := config.Load(name)
	if err == nil {
		err = node.Check(c)
	}
	if err == nil {
		err = neighbours.CheckNotify(&c.Notify)
	}
	return c, err
}
