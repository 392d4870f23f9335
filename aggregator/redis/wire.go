package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
)

// wire is what all parts of a link share: the way to Redis, the node, and who hears
// how it went. Nobody changes it; what it points to is safe for concurrent use. A
// part embeds it for its words only: no part reaches another's state by it.
type wire struct {
	config *Config
	node   Peer
	client goredis.UniversalClient
	names  names
	health *fleet.Health
	stats  *counters
}

// reloadCluster makes a Cluster's client look up its masters again: otherwise
// it would use what it knows for up to a minute after a failed dial. It does
// not wait.
func (w *wire) reloadCluster(ctx context.Context) {
	if cluster, ok := w.client.(*goredis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}

// signal sets a flag without waiting for its reader.
func signal(flag chan<- struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}
