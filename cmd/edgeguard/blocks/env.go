// Package blocks is the commands that show and change which addresses a running node
// blocks, and which it never blocks.
package blocks

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
)

// Env is what the commands use of the program around them.
type Env struct {
	Stdout io.Writer
	Stderr io.Writer // for wrong lines of a file
	Colour bool
	// Node declares on a command the flags that say where the node is, and returns
	// what asks it.
	Node func(*cobra.Command) func(context.Context, func(context.Context, *client.Client) error) error
	// Usage marks an error as a mistake on the command line.
	Usage func(error) error
	// NoArguments and OneArgument check the arguments of a command.
	NoArguments cobra.PositionalArgs
	OneArgument func(what string) cobra.PositionalArgs
}

// reach is how a command asks its node.
type reach struct {
	env    *Env
	ask    func(context.Context, func(context.Context, *client.Client) error) error
	noWait bool
	asJSON bool
}

// flags declares on c the flags that say where the node is.
func (r *reach) flags(c *cobra.Command) { r.ask = r.env.Node(c) }

// waitFlag declares on c the flag of a command after which other nodes may hold
// something.
func (r *reach) waitFlag(c *cobra.Command) {
	c.Flags().BoolVar(&r.noWait, "no-wait", false, "in a fleet without a key, do not ask which other nodes hold it")
}

// jsonFlag declares on c the flag that prints what was changed as JSON, as the API
// returns it, and nothing else.
func (r *reach) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&r.asJSON, "json", false, "print JSON, one object")
}

// print prints as JSON what was changed.
func (r *reach) print(changed any) error { return json.NewEncoder(r.env.Stdout).Encode(changed) }

// notOwned refuses JSON of what belongs to an owner: more blocks than one may change, or
// none.
func (r *reach) notOwned(owner string) error {
	if r.asJSON && owner != "" {
		return r.env.Usage(errors.New("--json and --owner: use one of them"))
	}
	return nil
}

// sayHeld says on which other nodes a change of these prefixes waits.
func (r *reach) sayHeld(ctx context.Context, node *client.Client, prefixes ...string) {
	Say(ctx, r.env.Stdout, node, !r.noWait, prefixes...)
}
