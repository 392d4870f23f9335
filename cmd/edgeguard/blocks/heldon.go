package blocks

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// mostNames is how many nodes a line names: a fleet may have a thousand, and who
// writes to Redis can make up more.
const mostNames = 10

// changedNode is the node on which the change was made.
type changedNode interface {
	Status(context.Context) (admin.Stats, error)
	FleetHeld(context.Context) (admin.FleetHeld, error)
}

// noWaitFlag declares on c the flag of a command after which other nodes may hold
// something.
func noWaitFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("no-wait", false, "in a fleet without a key, do not ask which other nodes hold it")
}

// Say says where the change of these prefixes waits; without prefixes, where anything
// does. A signed change waits only where all
// that came from other nodes would be too wide. About an unsigned one it asks the other nodes,
// which takes some seconds, unless wait is false. What it cannot find out it says, too:
// the change itself was made.
func Say(ctx context.Context, out io.Writer, node changedNode, wait bool, prefixes ...string) {
	s, err := node.Status(ctx)
	if err != nil || s.Fleet == nil || s.Monitor {
		return // nobody else learns of the change
	}
	if s.Fleet.KeyMode != "" {
		fmt.Fprintln(out, "signed with the fleet's key: it waits for confirmation on no node that has the key, unless all from other nodes is too wide there")
		return
	}
	const unsigned, unknown = "unsigned, because this fleet has no key", "another node may hold it: see edgeguard blocks held on each node, and confirm there"
	if !wait {
		fmt.Fprintf(out, "%s: %s\n", unsigned, unknown)
		return
	}
	fmt.Fprintf(out, "%s: asking the other nodes whether they hold it, for up to 6 s\n", unsigned)
	held, err := node.FleetHeld(ctx)
	if err != nil {
		fmt.Fprintf(out, "%s: %s\n", safetext.Strip(err.Error()), unknown)
		return
	}
	reportHeld(out, &held, prefixes)
}

// reportHeld prints what the nodes say.
func reportHeld(out io.Writer, held *admin.FleetHeld, prefixes []string) {
	for _, text := range prefixes {
		prefix, _ := call.ParsePrefix("prefix", text) // the node has accepted it
		printHeldOn(out, held.Of(prefix), text, "for confirmation", "edgeguard blocks confirm "+text)
	}
	if len(prefixes) == 0 {
		printHeldOn(out, *held, "a record", "for confirmation, or for room,", "edgeguard blocks held")
	}
}

// printHeldOn prints what the nodes say of one thing, for what it waits, and what to run on
// those that hold it.
func printHeldOn(out io.Writer, held admin.FleetHeld, what, why, run string) {
	var on, perhaps []string
	for _, n := range held.Nodes {
		name := safetext.Strip(n.Name)
		if n.State == admin.NodeHolds {
			on = append(on, name)
		} else {
			perhaps = append(perhaps, name+" ("+because(n.State)+")")
		}
	}
	if len(on) > 0 {
		fmt.Fprintf(out, "%s waits %s on %s: %s there\n", what, why, list(on), run)
	}
	if len(perhaps) > 0 {
		fmt.Fprintf(out, "%s may wait on %s: see edgeguard blocks held there\n", what, list(perhaps))
	}
	if len(held.Nodes) == 0 {
		fmt.Fprintf(out, "%s waits on none of the %s alive\n", what, words.Plural(held.Alive, "node", "nodes"))
	}
}

// because returns why it is not known what a node holds.
func because(state string) string {
	if state == admin.NodeMore {
		return "holds more records than it names"
	}
	return "has not answered"
}

// list writes names, and of many how many there are more.
func list(names []string) string {
	text := strings.Join(names[:min(len(names), mostNames)], ", ")
	if more := len(names) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %s more", words.Number(more))
	}
	return text
}
