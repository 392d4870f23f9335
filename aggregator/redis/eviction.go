package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/fleet"
)

// server is a connection to one Redis.
type server interface {
	InfoMap(ctx context.Context, sections ...string) *goredis.InfoCmd
}

// readEvictions returns how many keys all masters have evicted since they started, and the
// maxmemory-policy of one that may evict; "" if none may. Each exchange may take so
// long. ok is false if one of them does not say.
func readEvictions(ctx context.Context, client goredis.UniversalClient, timeout time.Duration) (evicted int64, policy string, ok bool) {
	for _, m := range masters(ctx, client) {
		bounded, cancel := context.WithTimeout(ctx, timeout)
		info, err := m.InfoMap(bounded, "memory", "stats").Result()
		cancel()
		if err != nil {
			return 0, "", false
		}
		n, _ := strconv.ParseInt(info["Stats"]["evicted_keys"], 10, 64)
		evicted += n
		if p := info["Memory"]["maxmemory_policy"]; p != "noeviction" && p != "" && info["Memory"]["maxmemory"] != "0" {
			policy = p
		}
	}
	return evicted, policy, true
}

// masters returns all masters of a Cluster, or the one Redis.
func masters(ctx context.Context, client goredis.UniversalClient) []server {
	cluster, ok := client.(*goredis.ClusterClient)
	if !ok {
		return []server{client}
	}
	var all []server
	found := make(chan server, 128)
	_ = cluster.ForEachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		select {
		case found <- c:
			return nil
		default:
			return errors.New("too many masters")
		}
	})
	for len(found) > 0 {
		all = append(all, <-found)
	}
	return all
}

// evictionWatch alarms while Redis drops keys, or may. It is of the heartbeat loop.
type evictionWatch struct {
	*wire
	evictions fleet.Evictions
}

// check raises an alarm if Redis evicts keys, or may. It ignores errors:
// the user may lack the permission, and other calls notice a Redis that fails.
func (e *evictionWatch) check(ctx context.Context) {
	evicted, policy, ok := readEvictions(ctx, e.client, e.config.Timeout)
	if !ok {
		return
	}
	if text := e.evictions.AlarmText(time.Now(), evicted, policy); text != "" {
		e.node.Alarm("eviction", "redis", text)
	} else {
		e.node.Calm("eviction", "redis")
	}
}
