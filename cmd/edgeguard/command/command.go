// Package command hides from the commands of edgeguard whether a terminal, a script or a
// test runs them. It has what they read of the outside world, how they refuse a command
// line, which config they read where none is named, with what exit code they end.
package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/config"
)

// Env is what a command uses of the outside world: tests replace it.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Colour says whether Stdout shows colours, Progress whether Stderr shows
	// a line that is drawn over: both are terminals then.
	Colour, Progress bool
	Width            int // columns of Stdout, 0 if it is not a terminal
	// Raw has Stdin handed on key by key, until restore is called; nil where it is no terminal.
	Raw func() (restore func(), ok bool)
	// JSON says that --json is given: see [Env.JSONFlag].
	JSON bool
}

// JSONFlag declares --json on c, which usage describes. One command line has one command,
// so the flag is the Env's.
func (e *Env) JSONFlag(c *cobra.Command, usage string) {
	c.Flags().BoolVar(&e.JSON, "json", false, usage)
}

// PrintJSON prints an object on a line.
func (e *Env) PrintJSON(object any) error { return json.NewEncoder(e.Stdout).Encode(object) }

// Show prints an answer: with --json as JSON, and else by text, which prints it for people.
// It returns the error of the answer, and prints nothing then.
func Show[T any](e *Env, answer T, err error, text func(*Env, *T)) error {
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(answer)
	}
	text(e, &answer)
	return nil
}

// ShowAll prints what was listed: with --json as JSON, an object per line, and else by text.
func ShowAll[T any](e *Env, all []T, err error, text func(*Env, []T)) error {
	if err != nil {
		return err
	}
	if !e.JSON {
		text(e, all)
		return nil
	}
	for i := range all {
		if err := e.PrintJSON(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// usageError is a mistake on the command line.
type usageError struct{ error }

// Usage makes err a mistake on the command line.
func Usage(err error) error { return usageError{err} }

// IsUsage reports whether an error is a mistake on the command line. Cobra reports an
// unknown command as a plain error, so its words are looked at.
func IsUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command")
}

// NoArguments is cobra's check that a command got nothing but flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(fmt.Errorf("%s takes no arguments, got %q", c.Name(), args[0]))
	}
	return nil
}

// OneArgument is cobra's check that a command got exactly one argument, which what
// describes.
func OneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usage(fmt.Errorf("%s: expected %s", c.Name(), what))
		}
		return nil
	}
}

// AtMostOneArgument is cobra's check that a command got no more than one argument. Else
// the error is what expected says.
func AtMostOneArgument(expected string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return Usage(errors.New(expected))
		}
		return nil
	}
}

// NoOther is cobra's check that a command, which does something without an argument, too,
// got none that is not the name of a command below it: use says which there are.
func NoOther(use string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usage(fmt.Errorf("%s: unknown subcommand %q: use %s", c.Name(), args[0], use))
		}
		return nil
	}
}

// Group makes c a command that only has others below it: alone, it prints its help. It
// returns c.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArguments
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// Ended is the end of a command with an exit code of its own. Without an error there is
// nothing more to print.
type Ended struct {
	Code int
	Err  error
}

// Error implements error.
func (e Ended) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the error, if there is one.
func (e Ended) Unwrap() error { return e.Err }

// DefaultConfig is read when it is there and no other is named.
const DefaultConfig = "/etc/edgeguard/edgeguard.yaml"

// LoadConfig reads the named config, or the one at the default place, or else
// gives the built-in one.
func LoadConfig(name string) (*config.Config, error) {
	found, err := FindConfig(name)
	if err != nil || found == "" {
		return config.Default(), err
	}
	return config.Load(found)
}

// FindConfig returns the config's name: the given one, or the default if that is
// there, or nothing.
func FindConfig(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	_, err := os.Stat(DefaultConfig)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) && config.HasPieces(DefaultConfig):
		return DefaultConfig, nil // pieces without the file that they add to are an error
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	}
	return "", err
}
