package blocks

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
)

// reach is how a command asks its node.
type reach struct {
	env    *command.Env
	ask    nodeaddr.Ask
	noWait bool
	asJSON bool
}

// flags declares on c the flags that say where the node is.
func (r *reach) flags(c *cobra.Command) { r.ask = nodeaddr.Flags(c) }

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
		return command.Usage(errors.New("--json and --owner: use one of them"))
	}
	return nil
}

// sayHeld says on which other nodes a change of these prefixes waits.
func (r *reach) sayHeld(ctx context.Context, node *client.Client, prefixes ...string) {
	Say(ctx, r.env.Stdout, node, !r.noWait, prefixes...)
}
