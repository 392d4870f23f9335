package main

import (
	"context"
	"fmt"

	"edgeguard/admin/client"
)

// warnUnsigned says what to do about a change that the other nodes of a fleet without
// a key may hold, since they cannot tell that an operator made it.
func warnUnsigned(ctx context.Context, e *env, node *client.Client) {
	s, err := node.Status(ctx)
	if err != nil || s.Fleet == nil || s.Fleet.KeyMode != "" {
		return // the change itself was made, and reported
	}
	fmt.Fprintln(e.stdout, "unsigned, because this fleet has no key: another node may hold it; see edgeguard blocks held on each node, and confirm there")
}
