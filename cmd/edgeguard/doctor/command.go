package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
)

// Env is what the command uses of the outside world.
type Env struct {
	*command.Env
	// Unit returns the node's unit.
	Unit func(context.Context) (Unit, error)
}

// errFound ends the command with exit code 1.
var errFound = errors.New("something would not work: see above")

// Command returns the command.
func Command(e *Env) *cobra.Command {
	var configFile string
	c := &cobra.Command{
		Use:   "doctor [--config FILE]",
		Short: "Look for problems that would keep a node from working on this host",
		Long: `doctor checks the host against the config: ports, files and their permissions,
the logs' last lines, the kernel's datagram queue, the clock, and settings that
cancel each other out. It asks the node, if one is running, and sends a blank line,
which counts nothing, to each socket where that node receives a log.

Run it as root: then it checks as the user and with the groups that the unit
edgeguard.service gives the node, if that unit uses this config. It changes nothing.

It exits 0 if nothing is wrong (there may be doubts), 1 if something would not
work or the config cannot be read, and 2 if the command line is wrong.`,
		Example: `  edgeguard doctor
  edgeguard doctor --config ./edgeguard.yaml --json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := examineAsUnit(cmd.Context(), e, configFile)
			if err != nil {
				return err
			}
			for _, f := range interrupted(cmp.Or(configFile, command.DefaultConfig)) {
				if !slices.Contains(r.Findings, f) { // by the child
					r = newReport(r.As, append(r.Findings, f))
				}
			}
			if err = command.Show(e.Env, *r, nil, printReport); err == nil && r.Wrong > 0 {
				err = errFound
			}
			return err
		},
	}
	c.Flags().StringVar(&configFile, "config", "", "config `FILE` (default "+command.DefaultConfig+" if it is there)")
	e.JSONFlag(c, "print JSON, one object")
	return c
}

// examineAsUnit checks as the unit's user where root asks for the unit's config, else as who
// asks.
func examineAsUnit(ctx context.Context, e *Env, configFile string) (*report, error) {
	named := cmp.Or(configFile, command.DefaultConfig)
	Adopt(ctx, e.Unit, named)
	c, err := command.LoadConfig(configFile)
	if err != nil {
		return nil, err
	}
	u, err := e.Unit(ctx)
	if err != nil {
		return newReport(account{User: userName()}, []finding{{wrong, "unit", err.Error()}}), nil
	}
	if !u.Uses(named) {
		return newReport(account{User: userName()}, examine(ctx, c, nil)), nil
	}
	as := account{User: u.User, Groups: u.Groups, Unit: UnitName}
	if os.Getuid() == 0 && u.UID != 0 {
		r, err := asUnit(ctx, &u, configFile)
		if err == nil {
			r.As = as
			return r, nil
		}
		return newReport(account{User: userName()}, append([]finding{notAsUnit(&u, err)}, examine(ctx, c, &u)...)), nil
	}
	if as.User = userName(); as.User != u.User {
		return newReport(account{User: as.User}, examine(ctx, c, &u)), nil
	}
	return newReport(as, examine(ctx, c, &u)), nil
}

// interrupted returns what runs of `edgeguard snippets` that were killed have left in files of proxies.
func interrupted(configFile string) (all []finding) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(configFile), "originals", "*", "unfinished.json")) // no wrong pattern
	for _, file := range left {
		all = append(all, finding{wrong, "snippets " + filepath.Base(filepath.Dir(file)), "an install or removal was interrupted, and files of the proxy may be half changed: run it again, which first puts them back"})
	}
	return all
}

// childError is why the examination as the unit's user found nothing at all: usually
// that user may not read the config.
type childError string

func (e childError) Error() string { return string(e) }

// notAsUnit returns the finding that only root's rights were tried. The node would not
// start either where the examination as its user ran and failed.
func notAsUnit(u *Unit, err error) finding {
	if failed, ran := errors.AsType[childError](err); ran {
		return finding{wrong, "unit", fmt.Sprintf("as user %s, who runs the node: %v", u.User, failed)}
	}
	return finding{doubt, "unit", fmt.Sprintf("checked as root, and not as %s, who runs the node: %v", u.User, err)}
}

// printReport prints the findings, one a line.
func printReport(e *command.Env, r *report) {
	looks := map[severity]string{fine: output.Faint, doubt: output.Amber, wrong: output.Red}
	if r.As.Unit != "" {
		fmt.Fprintf(e.Stdout, "Checked as user %s with the groups %s, as %s runs the node.\n\n", r.As.User, strings.Join(r.As.Groups, ", "), r.As.Unit)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(e.Stdout, "%s  %s: %s\n", output.Paint(looks[f.Severity], fmt.Sprintf("%-5s", f.Severity), e.Colour), safetext.Strip(f.About), safetext.Strip(f.Text))
	}
	fmt.Fprintf(e.Stdout, "\n%d ok, %d in doubt, %d wrong\n", r.OK, r.Doubt, r.Wrong)
}
