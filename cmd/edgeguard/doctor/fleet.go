package doctor

import (
	"context"
	"os"
	"strings"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/node/fleetlink"
)

// fleetKey looks whether what this node says in its fleet can be told from what
// others write into Redis.
func (x *examination) fleetKey(c *config.Config) {
	if c.Fleet == nil {
		return
	}
	const about = "fleet key"
	if c.Fleet.KeyFile == "" {
		x.note(doubt, about, "no key: who can write to Redis can speak for a node; set fleet.key_file")
		return
	}
	text, err := os.ReadFile(c.Fleet.KeyFile)
	if err != nil {
		x.note(wrong, about, "%v: the node stays out of its fleet", err)
		return
	}
	keys, err := aggregator.ParseSigningKeys(string(text))
	switch {
	case err != nil:
		x.note(wrong, about, "%s: %v", c.Fleet.KeyFile, err)
	case !c.Fleet.RequireKey:
		x.note(doubt, about, "key %s signs, and unsigned records are accepted: set key_mode: require when `edgeguard fleet status` shows none", keys.KeyID())
	default:
		x.note(fine, about, "key %s signs, and only signed records are accepted", keys.KeyID())
	}
}

// fleetRedis looks whether the fleet's Redis answers this node, and what is wrong there. It
// changes nothing. A node runs alone as long as it does not.
func (x *examination) fleetRedis(ctx context.Context, c *config.Config) {
	if c.Fleet == nil {
		return
	}
	const about = "fleet Redis"
	rc := fleetlink.RedisConfig(c, "doctor")
	client, err := redis.NewClient(rc)
	if err != nil {
		x.note(wrong, about, "%v", err)
		return
	}
	defer func() { _ = client.Close() }() // it was only asked
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	f, err := redis.Status(ctx, client, rc)
	switch {
	case err != nil && x.denied(about, err):
		return
	case err != nil:
		x.note(wrong, about, "%v", err)
		return
	}
	for _, text := range f.Faults {
		x.note(doubt, about, "%s", text)
	}
	if len(f.Faults) == 0 {
		x.note(fine, about, "answers at %s", strings.Join(c.Fleet.Redis, ", "))
	}
}
