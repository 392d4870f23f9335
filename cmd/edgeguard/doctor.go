package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
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
			return examine(e, doctor.Examine(cmd.Context(), c))
		},
	}
	c.Flags().StringVar(&configFile, "config", "", "config `FILE` (default "+defaultConfig+" if it is there)")
	return c
}

// examine prints what was found; it fails if something would not work.
func examine(e *env, findings []doctor.Finding) error {
	looks := map[doctor.Severity]struct{ word, colour string }{
		doctor.OK: {"ok   ", output.Faint}, doctor.Doubt: {"doubt", output.Amber}, doctor.Wrong: {"wrong", output.Red},
	}
	counts := make(map[doctor.Severity]int)
	for _, f := range findings {
		counts[f.Severity]++
		look := looks[f.Severity]
		fmt.Fprintf(e.stdout, "%s  %s: %s\n", output.Paint(look.colour, look.word, e.colour), f.About, safetext.Strip(f.Text))
	}
	fmt.Fprintf(e.stdout, "\n%d ok, %d in doubt, %d wrong\n", counts[doctor.OK], counts[doctor.Doubt], counts[doctor.Wrong])
	if counts[doctor.Wrong] > 0 {
		return errors.New("something would not work: see above")
	}
	return nil
}
