package main

import (
	"context"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/command"
)

func fleetInstallCommand(e *command.Env) *cobra.Command {
	r := fleetReach{}
	c := &cobra.Command{
		Use:   "install [--redis URL]",
		Short: "Load the function library into the fleet's Redis, on every master",
		Long: `install loads the functions that add up the nodes' counts (Redis 7 or later).
Its user needs the right to load functions, which a node's user should not have:
'edgeguard fleet acl' prints the lines of both users. It is safe to repeat. A
Redis that starts empty has lost the library: run install again, or set
fleet.loader_file on one node.`,
		Example: `  edgeguard fleet install --redis redis://loader@redis.internal:6379 --password-file /root/loader.pass`,
		Args:    command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return r.ask(c.Context(), func(ctx context.Context, client goredis.UniversalClient, rc redis.Config) error {
				done, err := redis.Install(ctx, client)
				for _, one := range done {
					fmt.Fprintln(e.Stdout, one)
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

func fleetACLCommand(e *command.Env) *cobra.Command {
	r := fleetReach{}
	c := &cobra.Command{
		Use:     "acl [USER]",
		Short:   "Print the ACL lines of the Redis users that a fleet needs",
		Example: "  edgeguard fleet acl edgeguard",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r.address = "redis://127.0.0.1" // no connection is made; only the namespace matters
			rc, err := r.settings()
			if err != nil {
				return err
			}
			user := strings.Join(args, "")
			fmt.Fprintf(e.Stdout, "%s\n%s\n", redis.ACLLine(user, rc.Namespace), redis.LoaderACL(""))
			return nil
		},
	}
	c.Flags().StringVar(&r.configFile, "config", "", "config `FILE` with the namespace (default "+command.DefaultConfig+" if it is there)")
	return c
}
