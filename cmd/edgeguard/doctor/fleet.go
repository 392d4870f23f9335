package doctor

import (
	"os"

	"edgeguard/aggregator"
	"edgeguard/config"
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
		x.note(doubt, about, "key %s signs, and unsigned records are accepted: set key_mode: require when `edgeguard fleet status` shows none", keys.ID())
	default:
		x.note(fine, about, "key %s signs, and only signed records are accepted", keys.ID())
	}
}
