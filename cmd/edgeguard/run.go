package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/blocks"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/cmd/edgeguard/setup"
	"edgeguard/internal/safetext"
	"edgeguard/node"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1 // the command could not do its work
	exitUsage = 2 // the command line is wrong
)

// run executes one command line and returns the exit code.
func run(ctx context.Context, e *command.Env, args []string) int {
	out := &checkedWriter{Writer: e.Stdout}
	e.Stdout = out
	root := rootCommand(e)
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil && out.err != nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	code := exitError
	var ended command.Ended
	if errors.As(err, &ended) {
		code = ended.Code
	}
	if err, ok := wordOf(args, err); ok {
		fmt.Fprintf(e.Stderr, "edgeguard: %s\n", err)
		return exitUsage
	}
	if err.Error() != "" {
		fmt.Fprintf(e.Stderr, "edgeguard: %s\n", safetext.Lines(err.Error()))
	}
	if command.IsUsage(err) {
		fmt.Fprintf(e.Stderr, "Run '%s --help' for its flags and examples.\n", ran.CommandPath())
		return exitUsage
	}
	return code
}

func rootCommand(e *command.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "edgeguard",
		Short: "Find and stop the addresses that abuse your web edge",
		Long: `edgeguard counts what each address does over a sliding window and blocks those
that go over a rule's limit, as a cloud WAF's rate-based rule does.

Start with one of your own logs:

  edgeguard replay /var/log/nginx/access.log     which addresses would the default rule have blocked?
  edgeguard tune   /var/log/nginx/access.log     which threshold spares your customers?
  edgeguard serve --log /var/log/nginx/access.log --monitor     watch it live, with edgeguard top

Each daily task with its command: edgeguard help tasks. All of the documentation: edgeguard help.`,
		Version:       buildVersion(), // it makes cobra declare --version and -v
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		err = flagOf(c, plainFlag(err))
		if c == root { // its name is printed before every error
			return command.Usage(err)
		}
		return command.Usage(fmt.Errorf("%s: %w", c.Name(), err))
	})
	addGroup(root, "Try rules on recorded traffic:", replayCommand(e), tuneCommand(e), presetsCommand(e), importCommand(e))
	addGroup(root, "Set up and run a node:", setupCommand(e), snippetsCommand(e), checkCommand(e), doctor.Command(&doctor.Env{Env: e, Unit: doctor.ReadUnit}),
		serveCommand(e), reloadCommand(e), fleetCommand(e), bouncersCommand(e), notifyCommand(e))
	addGroup(root, "Look at a running node:", observe.Status(e), observe.Top(e, printExplanation), observe.Attacks(e), observe.Events(e), observe.Changes(e), explainCommand(e), consoleCommand(e))
	addGroup(root, "Change what a running node does:", blocks.Command(e), blocks.AllowCommand(e), clientsCommand(e), blocks.BlocklistsCommand(e),
		rulesCommand(e), enforceCommand(e))
	addGroup(root, "Else:", manCommand(e), versionCommand(e))
	root.SetHelpCommand(helpCommand(e))
	root.SetHelpCommandGroupID("Else:")
	root.InitDefaultHelpCmd() // so that it is among the commands before one runs
	root.SetCompletionCommandGroupID("Else:")
	completeValues(root)
	return root
}

// addGroup gives root commands that its help lists together, below a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// someFiles is cobra's check that a command got at least one file.
func someFiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.Usage(fmt.Errorf("%s: name at least one file, or use - for standard input", c.Name()))
	}
	return nil
}

// setupCommand returns `edgeguard setup` for this host.
func setupCommand(e *command.Env) *cobra.Command {
	return setup.Command(&setup.Env{
		Env: e, DefaultConfig: command.DefaultConfig, Check: node.Check,
		Unit: doctor.ReadUnit, DropIn: "/etc/systemd/system/" + doctor.UnitName + ".d/setup.conf",
	})
}
