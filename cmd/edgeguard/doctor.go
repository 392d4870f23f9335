package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/config"
)

func doctorCommand(e *env) *cobra.Command {
	var configFile string
	c := &cobra.Command{
		Use:   "doctor [--config FILE]",
		Short: "Look for problems that would keep a node from working on this host",
		Long: `doctor checks the host against the config: ports, files and their permissions,
the logs' formats, the kernel's datagram queue, the clock, and settings that
cancel each other out. It also asks the node, if one is running. Run it as the
user that serves. It changes nothing, and exits 1 if something would not work.`,
		Example: `  sudo -u edgeguard edgeguard doctor --config /etc/edgeguard/edgeguard.yaml`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(configFile)
			if err != nil {
				return err
			}
			return examine(cmd.Context(), e, c)
		},
	}
	c.Flags().StringVar(&configFile, "config", "", "config `FILE` (default "+defaultConfig+" if it is there)")
	return c
}

// severity is how bad a finding is.
type severity int

const (
	well  severity = iota // as it should be
	doubt                 // works, and may not be what is wanted
	wrong                 // does not work
	nSever
)

// finding is one thing that doctor looked at.
type finding struct {
	severity severity
	about    string
	text     string
}

// examination collects findings.
type examination struct{ findings []finding }

func (x *examination) note(s severity, about, format string, args ...any) {
	x.findings = append(x.findings, finding{s, about, fmt.Sprintf(format, args...)})
}

// examine looks at everything and prints what it found.
func examine(ctx context.Context, e *env, c *config.Config) error {
	x := &examination{}
	for _, w := range c.Warnings {
		x.note(doubt, "config", "%s", w)
	}
	for _, text := range openSecrets(c) {
		x.note(doubt, "secret", "%s", text)
	}
	x.listeners(c)
	x.state(c)
	x.logs(c)
	x.enforcers(c)
	x.leftLists(c)
	x.datagrams(c)
	x.clock()
	x.node(ctx, c)
	var counts [nSever]int
	for _, f := range x.findings {
		counts[f.severity]++
		word := []string{"ok   ", "doubt", "wrong"}[f.severity]
		colour := []string{faint, amber, red}[f.severity]
		fmt.Fprintf(e.stdout, "%s  %s: %s\n", paint(colour, word, e.colour), f.about, f.text)
	}
	fmt.Fprintf(e.stdout, "\n%d ok, %d in doubt, %d wrong\n", counts[well], counts[doubt], counts[wrong])
	if counts[wrong] > 0 {
		return errors.New("something would not work: see above")
	}
	return nil
}
