package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/config"
	"edgeguard/presets"
)

// presetsCommand returns `edgeguard presets`.
func presetsCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "presets",
		Short: "List the rules that are shipped, and print them",
		Long: `presets lists the sets of rules that edgeguard ships. A config uses them by name
(presets: [web, wordpress]), and replay, tune and serve by --preset. A version
does not change: a name without one is the oldest version.`,
		Example: `  edgeguard presets
  edgeguard presets show web
  edgeguard tune --preset web --preset wordpress access.log`,
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error { listPresets(e); return nil },
	}
	c.AddCommand(&cobra.Command{
		Use:   "show NAME…",
		Short: "Print a preset as YAML, with its evidence",
		Long: `show prints presets as they are shipped: rules in YAML, with what is known of
their numbers.`,
		Example: `  edgeguard presets show web
  edgeguard presets show wordpress@1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, names []string) error { return showPresets(e, names) },
	})
	return c
}

func listPresets(e *command.Env) {
	t := &output.Table{}
	t.Texts(output.Bold, "preset")
	t.Texts(output.Plain, "for")
	for _, p := range presets.Shipped() {
		t.Row(p.String(), p.About)
	}
	t.Print(e.Stdout, e.Colour)
}

func showPresets(e *command.Env, names []string) error {
	var texts []string
	for _, name := range names {
		p, err := presets.Shipped().Find(name)
		if err != nil {
			return err
		}
		texts = append(texts, p.Text)
	}
	_, err := io.WriteString(e.Stdout, strings.Join(texts, "\n"))
	return err
}

// presetFlag declares --preset on c, and returns the names that are given.
func presetFlag(c *cobra.Command, usage string) *[]string {
	var names []string
	c.Flags().StringSliceVar(&names, "preset", nil, usage)
	return &names
}

// withPresets returns the config with the rules of the presets that the flag names: beside its
// own, or alone. Without a name it is c itself.
func withPresets(c *config.Config, names []string, alone bool) (*config.Config, error) {
	if len(names) == 0 {
		return c, nil
	}
	next, err := c.WithPresets(names, alone)
	if err != nil {
		return nil, fmt.Errorf("--preset: %w", err)
	}
	return next, nil
}
