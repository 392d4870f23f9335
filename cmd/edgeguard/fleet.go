package main

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
	"edgeguard/node/fleetlink"
)

// fleetPatience is how long a command waits for Redis in all.
const fleetPatience = 10 * time.Second

// fleetCommand returns `edgeguard fleet` with the commands below it: they prepare the
// Redis of a fleet, or show its nodes.
func fleetCommand(e *command.Env) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "fleet",
		Short:   "Show the nodes that add up their counts, and prepare their Redis",
		Example: "  edgeguard fleet status\n  edgeguard fleet key",
	}, fleetStatusCommand(e), fleetInstallCommand(e), fleetACLCommand(e), fleetKeyCommand(e), fleetSignCommand(e))
}

// fleetReach are the flags that say where the fleet's Redis is.
type fleetReach struct {
	configFile, address, passwordFile string
	keyFile                           string // the config's; settings sets it
}

func (r *fleetReach) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.configFile, "config", "", "config `FILE` of the fleet (default "+command.DefaultConfig+" if it is there)")
	f.StringVar(&r.address, "redis", "", "`URL` of the Redis (redis://, rediss:// or unix://) instead of the config's")
	f.StringVar(&r.passwordFile, "password-file", "", "`FILE` with the password, instead of the config's")
}

// settings returns the fleet that the flags name.
func (r *fleetReach) settings() (redis.Config, error) {
	c, err := command.LoadConfig(r.configFile)
	if err != nil {
		return redis.Config{}, err
	}
	if c.Fleet == nil && r.address == "" {
		return redis.Config{}, errors.New("the config has no fleet: use --redis URL, or --config FILE with fleet.redis")
	}
	if c.Fleet == nil {
		c.Fleet = config.DefaultFleet()
	}
	r.keyFile = c.Fleet.KeyFile
	rc := fleetlink.RedisConfig(c, buildVersion())
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
	client, err := redis.NewClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	return f(ctx, client, c)
}
