package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

func fleetStatusCommand(e *command.Env) *cobra.Command {
	r := fleetReach{}
	c := &cobra.Command{
		Use:   "status [--redis URL]",
		Short: "Show the fleet's nodes: versions, clocks, push lag, and whether they agree",
		Long: `status reads from Redis what the nodes of the fleet say of themselves, and says what is
wrong: a Redis that may drop what it is given or lacks the functions, two nodes of one
name, a node that is gone, and rules of one name that have differed for two minutes. A
node that has left is listed for an hour.

The exit code is 0 if nothing is wrong, and 1 if something is, or Redis does not answer.`,
		Example: `  edgeguard fleet status
  edgeguard fleet status --json | jq .faults`,
		Args: command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return r.ask(c.Context(), func(ctx context.Context, client goredis.UniversalClient, rc redis.Config) error {
				f, err := redis.Status(ctx, client, rc)
				if err != nil {
					return err
				}
				keys, keyErr := readFleetKeys(r.keyFile)
				records, err := countRecords(ctx, client, rc.Namespace, keys)
				if err != nil {
					return rc.Explain(err)
				}
				if keyErr != nil {
					f.Faults = append(f.Faults, keyErr.Error())
				}
				if e.JSON {
					err = e.PrintJSON(struct {
						redis.Fleet
						Records fleetRecords `json:"records"`
					}{f, records})
				} else {
					printFleet(e, &f, &records)
				}
				if err == nil && len(f.Faults) > 0 {
					err = command.Ended{Code: observe.Degraded}
				}
				return err
			})
		},
	}
	r.flags(c)
	e.JSONFlag(c, "print JSON")
	return c
}

// printFleet shows the fleet to people, what is wrong in red.
func printFleet(e *command.Env, f *redis.Fleet, r *fleetRecords) {
	server := "Redis " + safetext.Strip(f.Redis)
	if f.Redis == "" {
		server = "Redis (version unknown: the user may not run INFO)"
	}
	fmt.Fprintf(e.Stdout, "namespace %s: %s, %s, list version %d, %s\n", f.Namespace, server,
		words.Plural(f.Partitions, "partition", "partitions"), f.Changes, words.Plural(f.Blocks, "block record", "block records"))
	for _, text := range f.Faults {
		fmt.Fprintf(e.Stdout, "%s %s\n", output.Paint(output.Red, "warning:", e.Colour), safetext.Strip(text))
	}
	if len(f.Libraries) > 0 {
		fmt.Fprintf(e.Stdout, "function libraries: %s\n", safetext.Strip(strings.Join(f.Libraries, ", ")))
	}
	printFleetKeys(e.Stdout, f, r, e.Colour)
	if len(f.Nodes) == 0 {
		fmt.Fprintln(e.Stdout, "\nNo node was seen in the last hour.")
		return
	}
	t := &output.Table{}
	t.Texts(output.Plain, "node", "state", "version", "up", "last seen")
	t.Numbers(output.Plain, "clock", "push lag")
	t.Texts(output.Plain, "list", "digest", "rules", "key")
	for i := range f.Nodes {
		n := &f.Nodes[i]
		t.Row(n.Node, nodeState(n), n.Version, words.Span(f.Now.Sub(n.Started).Round(time.Second)), words.Span(time.Duration(n.Age*float64(time.Second)).Round(time.Second))+" ago",
			fmt.Sprintf("%+.0f ms", n.AheadMS), fmt.Sprintf("%d ms", n.PushLagMS), fmt.Sprint(n.Changes), n.Digest, safetext.Strip(n.Rules), nodeKey(n))
	}
	fmt.Fprintln(e.Stdout)
	t.Print(e.Stdout, e.Colour)
}

// nodeState returns the state of a node in a word.
func nodeState(n *redis.NodeStatus) string {
	switch {
	case n.DuplicateName:
		return "DUPLICATE NAME"
	case !n.Alive:
		return "gone"
	case n.Monitor:
		return "monitor"
	}
	return "alive"
}
