// Package observe has the commands that show what a running node does.
package observe

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
)

// Program is what the commands use of the program around them.
type Program struct {
	Stdout io.Writer
	Colour bool
	// Width is the columns of a terminal, 0 where the output is none.
	Width int
	// Node declares the flags that say where the node is, and returns what calls f
	// with a client for it.
	Node func(*cobra.Command) func(ctx context.Context, f func(context.Context, *client.Client) error) error
	// Usage marks an error as a mistake on the command line.
	Usage func(error) error
	// NoArguments is the check that a command got nothing but flags.
	NoArguments cobra.PositionalArgs
}
