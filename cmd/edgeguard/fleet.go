package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"edgeguard/aggregator/redis"
	"edgeguard/aggregator/redis/library"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/config"
	"edgeguard/node"
)

// fleetPatience is how long a fleet command waits for Redis in all.
const fleetPatience = 10 * time.Second

func fleetCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Show the nodes that add up their counts, and prepare their Redis",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(fleetStatusCommand(e), fleetInstallCommand(e), fleetACLCommand(e))
	return c
}

// fleetReach are the flags that say where the fleet's Redis is.
type fleetReach struct {
	configFile, address, passwordFile string
}

func (r *fleetReach) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.configFile, "config", "", "config `FILE` of the fleet (default "+defaultConfig+" if it is there)")
	f.StringVar(&r.address, "redis", "", "`URL` of the Redis (redis://, rediss:// or unix://) instead of the config's")
	f.StringVar(&r.passwordFile, "password-file", "", "`FILE` with the password, instead of the config's")
}

// settings returns the fleet that the flags name.
func (r *fleetReach) settings() (redis.Config, error) {
	c, err := loadConfig(r.configFile)
	if err != nil {
		return redis.Config{}, err
	}
	if c.Fleet == nil && r.address == "" {
		return redis.Config{}, errors.New("the config has no fleet: use --redis URL, or --config FILE with fleet.redis")
	}
	if c.Fleet == nil {
		c.Fleet = config.DefaultFleet()
	}
	rc := node.RedisConfig(c, buildVersion())
	if r.address != "" {
		rc.Addresses, rc.Cluster, rc.Sentinel = []string{r.address}, false, ""
	}
	if r.passwordFile != "" {
		rc.PasswordFile = r.passwordFile
	}
	return rc, nil
}

// ask calls f with a client of the fleet's Redis.
func (r *fleetReach) ask(ctx context.Context, f func(context.Context, goredis.UniversalClient, redis.Config) error) error {
	c, err := r.settings()
	if err != nil {
		return err
	}
	client, err := redis.Dial(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return f(ctx, client, c)
}

func fleetInstallCommand(e *env) *cobra.Command {
	var r fleetReach
	c := &cobra.Command{
		Use:   "install [--redis URL]",
		Short: "Load the function library into the fleet's Redis, on every master",
		Long: `install loads the functions that add up the nodes' counts (Redis 7 or later).
Its user needs the right to load functions, which a node's user should not have:
'edgeguard fleet acl' prints the lines of both users. It is safe to repeat. A
Redis that starts empty has lost the library: run install again, or set
fleet.loader_file on one node.`,
		Example: `  edgeguard fleet install --redis redis://loader@redis.internal:6379 --password-file /root/loader.pass`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return r.ask(c.Context(), func(ctx context.Context, client goredis.UniversalClient, rc redis.Config) error {
				done, err := library.Install(ctx, client)
				for _, one := range done {
					fmt.Fprintln(e.stdout, one)
				}
				if err != nil {
					return rc.Explain(err)
				}
				return nil
			})
		},
	}
	r.flags(c)
	return c
}

func fleetACLCommand(e *env) *cobra.Command {
	var r fleetReach
	c := &cobra.Command{
		Use:   "acl [USER]",
		Short: "Print the ACL lines of the Redis users that a fleet needs",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r.address = "redis://127.0.0.1" // no connection is made; only the namespace matters
			rc, err := r.settings()
			if err != nil {
				return err
			}
			user := strings.Join(args, "")
			fmt.Fprintf(e.stdout, "%s\n%s\n", library.ACL(user, rc.Namespace), library.LoaderACL(""))
			return nil
		},
	}
	c.Flags().StringVar(&r.configFile, "config", "", "config `FILE` with the namespace (default "+defaultConfig+" if it is there)")
	return c
}

func fleetStatusCommand(e *env) *cobra.Command {
	var r fleetReach
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [--redis URL]",
		Short: "Show the fleet's nodes: versions, clocks, push lag, and whether they agree",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return r.ask(c.Context(), func(ctx context.Context, client goredis.UniversalClient, rc redis.Config) error {
				f, err := redis.Status(ctx, client, rc)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(e.stdout).Encode(f)
				}
				printFleet(e, &f, rc)
				return nil
			})
		},
	}
	r.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printFleet shows the fleet to people, what is wrong in red.
func printFleet(e *env, f *redis.Fleet, rc redis.Config) {
	server := "Redis " + f.Redis
	if f.Redis == "" {
		server = "Redis (version unknown: the user may not run INFO)"
	}
	fmt.Fprintf(e.stdout, "namespace %s: %s, %s, list version %d, %s\n", f.Namespace, server,
		output.Plural(f.Partitions, "partition", "partitions"), f.Changes, output.Plural(f.Blocks, "block record", "block records"))
	if f.Policy != "" && f.Policy != "noeviction" {
		fmt.Fprintf(e.stdout, "%s maxmemory-policy is %s: Redis may drop counts and blocks; set it to noeviction\n", output.Paint(output.Red, "warning:", e.colour), f.Policy)
	}
	if f.Partitions != 0 && rc.Partitions != 0 && f.Partitions != rc.Partitions {
		fmt.Fprintf(e.stdout, "%s this config has %d partitions, so its node will not join\n", output.Paint(output.Red, "warning:", e.colour), rc.Partitions)
	}
	if len(f.Libraries) > 0 {
		fmt.Fprintf(e.stdout, "function libraries: %s\n", strings.Join(f.Libraries, ", "))
	}
	if len(f.Nodes) == 0 {
		fmt.Fprintln(e.stdout, "\nNo node was seen in the last hour.")
		return
	}
	t := &output.Table{}
	for _, head := range []string{"node", "state", "version", "up", "last seen", "clock", "push lag", "list", "digest"} {
		t.Column(head, head == "clock" || head == "push lag", "")
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		t.Row(n.Node, nodeState(n), n.Version, output.Span(f.Now.Sub(n.Started).Round(time.Second)), output.Span(n.Age.Round(time.Second))+" ago",
			fmt.Sprintf("%+.0f ms", n.AheadMS), fmt.Sprintf("%d ms", n.PushLagMS), fmt.Sprint(n.Changes), n.Digest)
	}
	fmt.Fprintln(e.stdout)
	t.Print(e.stdout, e.colour)
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
