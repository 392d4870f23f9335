package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"edgeguard/config"
	"edgeguard/node/fleetlink"
	"edgeguard/replay"
)

// fleetOf returns the fleet of `replay --fleet URL`: the config's settings, at
// that Redis, in a namespace of this replay's own.
func fleetOf(address string, c *config.Config) replay.Fleet {
	if c.Fleet == nil {
		c.Fleet = config.DefaultFleet()
	}
	f := c.Fleet
	if len(f.Redis) == 0 || f.Redis[0] != address {
		f.Redis, f.Cluster, f.Sentinel = []string{address}, false, ""
	}
	r := fleetlink.RedisConfig(c, buildVersion())
	var id [4]byte
	_, _ = rand.Read(id[:]) // it never fails
	r.Namespace = "replay-" + hex.EncodeToString(id[:])
	return replay.Fleet{Redis: r, Quiet: f.Quiet, MaxNodes: f.MaxNodes, Share: f.Share, MaxSuspects: f.MaxSuspects}
}

// replay runs the events on one node, or, with --fleet, on one for each name
// that they carry.
func (j *job) replay(ctx context.Context, source replay.Source) (*replay.Report, error) {
	if j.settings.fleet == "" {
		return replay.Run(ctx, source, j.config)
	}
	return replay.RunFleet(ctx, source, j.config, fleetOf(j.settings.fleet, j.limits))
}
