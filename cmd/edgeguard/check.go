package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/config"
	"edgeguard/crawlers/lookup"
	"edgeguard/node"
	"edgeguard/node/neighbours"
)

// This file is the command that checks a config: it prints all that is wrong with it,
// or what is in effect.

// Outside is what the command uses of the program and of the outside world.
type Outside struct {
	Stdout, Stderr io.Writer
	DefaultConfig  string
	// Find returns the config's name: the given one, or the default if that is there,
	// or nothing.
	Find        func(file string) (string, error)
	Unit        func(context.Context) (doctor.Unit, error)
	NoArguments cobra.PositionalArgs
}

// CheckCommand returns the command check.
func CheckCommand(e *Outside) *cobra.Command {
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Check a config: print every error with its line, or the effective config",
		Long: `check reads a config and prints every error with its line and its fix. A config
without errors is printed in full, with all defaults and with each rule's limit
beside its threshold. Warnings go to standard error, and so does what operators
changed of the rules while the node ran (edgeguard overlay). With --json it prints
one object: the problems, the warnings, and each rule's limit.

Without a config it prints the defaults, as a file to start from.`,
		Example: `  edgeguard check --config edgeguard.yaml
  edgeguard check --json | jq '.problems[]'
  edgeguard check > edgeguard.yaml       # the defaults, where there is no config`,
		Args: e.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			doctor.Adopt(c.Context(), e.Unit, cmp.Or(file, e.DefaultConfig))
			if asJSON {
				return printJSON(e, file)
			}
			return printText(e, file)
		},
	}
	c.Flags().StringVar(&file, "config", "", "config `FILE` (default "+e.DefaultConfig+" if it is there)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object")
	return c
}

func printText(e *Outside, file string) error {
	name, err := e.Find(file)
	if err != nil {
		return err
	}
	if name == "" {
		fmt.Fprintf(e.Stderr, "no config at %s: these are the defaults, as a file to start from\n", e.DefaultConfig)
		_, err = fmt.Fprint(e.Stdout, config.Default().YAML())
		return err
	}
	c, err := load(name)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(e.Stderr, "warning: %s\n", w)
	}
	for _, text := range doctor.OpenSecrets(c) {
		fmt.Fprintf(e.Stderr, "warning: %s\n", text)
	}
	verified, err := lookup.Describe(c.Crawlers)
	if err != nil {
		return err
	}
	for _, text := range verified {
		fmt.Fprintf(e.Stderr, "crawlers: %s\n", text)
	}
	for _, text := range OnTop(c) {
		fmt.Fprintf(e.Stderr, "overlay: %s\n", text)
	}
	_, err = fmt.Fprint(e.Stdout, c.YAML())
	return err
}

// load reads a config with all the checks of a node's start, and with the templates of its
// notifications, without which a node starts.
func load(name string) (*config.Config, error) {
	c, err := config.Load(name)
	if err == nil {
		err = node.Check(c)
	}
	if err == nil {
		err = neighbours.CheckNotify(&c.Notify)
	}
	return c, err
}
