package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/overlay"
	"edgeguard/config"
	"edgeguard/crawlers/lookup"
	"edgeguard/node"
)

func checkCommand(e *env) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check [--config FILE]",
		Short: "Check a config: print every error with its line, or the effective config",
		Long: `check reads a config and prints every error with its line and its fix. A config
without errors is printed in full, with all defaults and with each rule's limit
beside its threshold. Warnings go to standard error, and so does what operators
changed of the rules while the node ran (edgeguard overlay).

Without a config it prints the defaults, as a file to start from.`,
		Example: `  edgeguard check --config edgeguard.yaml
  edgeguard check > edgeguard.yaml       # the defaults, where there is no config`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return checkConfig(e, file) },
	}
	c.Flags().StringVar(&file, "config", "", "config `FILE` (default "+defaultConfig+" if it is there)")
	return c
}

func checkConfig(e *env, file string) error {
	name, err := findConfig(file)
	if err != nil {
		return err
	}
	if name == "" {
		fmt.Fprintf(e.stderr, "no config at %s: these are the defaults, as a file to start from\n", defaultConfig)
		_, err = fmt.Fprint(e.stdout, config.Default().YAML())
		return err
	}
	c, err := config.Load(name)
	if err != nil {
		return err
	}
	if err := node.Check(c); err != nil {
		return err
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(e.stderr, "warning: %s\n", w)
	}
	for _, text := range doctor.OpenSecrets(c) {
		fmt.Fprintf(e.stderr, "warning: %s\n", text)
	}
	verified, err := lookup.Describe(c.Crawlers)
	if err != nil {
		return err
	}
	for _, text := range verified {
		fmt.Fprintf(e.stderr, "crawlers: %s\n", text)
	}
	for _, text := range overlay.OnTop(c) {
		fmt.Fprintf(e.stderr, "overlay: %s\n", text)
	}
	_, err = fmt.Fprint(e.stdout, c.YAML())
	return err
}
