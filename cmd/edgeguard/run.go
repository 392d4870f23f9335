package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/internal/safetext"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1 // the command could not do its work
	exitUsage = 2 // the command line is wrong
)

// usageError is a mistake on the command line.
type usageError struct{ error }

// asUsage makes err a mistake on the command line, for commands in packages of their own.
func asUsage(err error) error { return usageError{err} }

// run executes one command line and returns the exit code.
func run(ctx context.Context, e *env, args []string) int {
	out := &checkedWriter{Writer: e.stdout}
	e.stdout = out
	root := rootCommand(e)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	code := exitError
	var ended observe.Ended
	if errors.As(err, &ended) {
		code = ended.Code
	}
	if err.Error() != "" {
		fmt.Fprintf(e.stderr, "edgeguard: %s\n", safetext.Lines(err.Error()))
	}
	if isUsage(err) {
		fmt.Fprintf(e.stderr, "Run 'edgeguard help' for the commands and their flags.\n")
		return exitUsage
	}
	return code
}

// isUsage reports whether an error is a mistake on the command line. Cobra reports an
// unknown command as a plain error, so its words are looked at.
func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command")
}

func rootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "edgeguard",
		Short: "Find and stop the addresses that abuse your web edge",
		Long: `edgeguard counts what each address does over a sliding window and blocks those
that go over a rule's limit, as a cloud WAF's rate-based rule does.

Start with one of your own logs:

  edgeguard replay /var/log/nginx/access.log     which addresses would the default rule have blocked?
  edgeguard tune   /var/log/nginx/access.log     which threshold spares your customers?
  edgeguard serve --log /var/log/nginx/access.log --monitor     watch it live, with edgeguard top`,
		Version:       buildVersion(), // it makes cobra declare --version and -v
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		err = plainFlag(err)
		if c == root { // its name is printed before every error
			return usageError{err}
		}
		return usageError{fmt.Errorf("%s: %w", c.Name(), err)}
	})
	root.AddCommand(replayCommand(e), tuneCommand(e), CheckCommand(&Outside{Stdout: e.stdout, Stderr: e.stderr, DefaultConfig: defaultConfig, Find: findConfig, Unit: doctor.Read, NoArguments: noArguments}), versionCommand(e))
	root.AddCommand(liveCommands(e)...)
	Register(root, &CompleteEnv{Ask: askByFlags, Load: loadConfig})
	return root
}

// files is cobra's check that a command got at least one file.
func files(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("%s: name at least one file, or use - for standard input", c.Name())}
	}
	return nil
}
