package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// Fleet is the state of a namespace, for `edgeguard fleet status`.
type Fleet struct {
	Namespace  string `json:"namespace"`
	Partitions int    `json:"partitions"` // 0 before the first node
	// Changes is the version of the fleet's list, Blocks how many records it
	// has, tombstones and ended ones included.
	Changes int64 `json:"changes"`
	Blocks  int64 `json:"blocks"`
	// Now is Redis' clock, Redis its version, Policy its eviction policy.
	Now    time.Time `json:"now"`
	Redis  string    `json:"redis,omitempty"`
	Policy string    `json:"policy,omitempty"`
	// Libraries are the versions of the function library, if the user may see
	// them.
	Libraries []string `json:"libraries,omitempty"`
	// Nodes are those with a heartbeat in the last hour, by name.
	Nodes []NodeStatus `json:"nodes"`
	// Faults are what is wrong with the fleet, each with its fix.
	Faults []string `json:"faults"`
}

// fresh is how old a live node's heartbeat may be.
const fresh = 10 * time.Second

// NodeStatus is one node's last heartbeat.
type NodeStatus struct {
	aggregator.Heartbeat
	// Alive: the heartbeat is from the last ten seconds. Age is how long ago it
	// was.
	Alive bool    `json:"alive"`
	Age   float64 `json:"age_seconds"`
	// DuplicateName: another living node has the same name.
	DuplicateName bool `json:"duplicate_name,omitempty"`
}

// Status reads the fleet's state from Redis. It changes nothing and needs no
// library. What an ACL hides stays empty, except the nodes.
func Status(ctx context.Context, client goredis.UniversalClient, c Config) (Fleet, error) {
	if err := c.check(); err != nil {
		return Fleet{}, err
	}
	n := newNames(c.Namespace, c.Partitions)
	f := Fleet{Namespace: c.Namespace, Nodes: []NodeStatus{}, Faults: []string{}}
	pipe := client.Pipeline()
	state, nodes, blocks := pipe.HGetAll(ctx, n.state), pipe.HGetAll(ctx, n.nodes), pipe.HLen(ctx, n.blocks)
	if _, err := pipe.Exec(ctx); err != nil {
		return f, fmt.Errorf("%s", c.diagnose(err).Text)
	}
	f.Partitions, _ = strconv.Atoi(state.Val()["partitions"])
	f.Changes, _ = strconv.ParseInt(state.Val()["version"], 10, 64)
	f.Blocks = blocks.Val()
	if err := f.server(ctx, client, n.nodes); err != nil {
		return f, fmt.Errorf("%s", c.diagnose(err).Text)
	}
	var alive []aggregator.Heartbeat
	for field, value := range nodes.Val() {
		_, value, _ = strings.Cut(value, " ") // the library puts the time of receipt before it
		if b, ok := aggregator.ParseHeartbeat(field, value); ok {
			age := f.Now.Sub(b.At)
			n := NodeStatus{Heartbeat: b, Age: age.Seconds()}
			if n.Alive = age.Abs() < fresh; n.Alive {
				alive = append(alive, b)
			}
			f.Nodes = append(f.Nodes, n)
		}
	}
	duplicates := fleet.Duplicates(alive)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		n.DuplicateName = n.Alive && slices.Contains(duplicates, n.Node)
	}
	slices.SortFunc(f.Nodes, func(a, b NodeStatus) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), b.Started.Compare(a.Started))
	})
	f.judge(c.Partitions)
	f.compareRules(ctx, client, n.rules)
	return f, nil
}

// compareRules says which living nodes have other rules of the same names, as far as the nodes have
// written what their rules do. Of nodes with one digest, one stands for all.
func (f *Fleet) compareRules(ctx context.Context, client goredis.UniversalClient, key string) {
	var names, digests []string
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Alive && n.Rules != "" && !slices.Contains(digests, n.Rules) {
			names, digests = append(names, n.Node), append(digests, n.Rules)
		}
	}
	if len(names) < 2 {
		return
	}
	all, err := client.HMGet(ctx, key, names...).Result()
	if err != nil {
		return // an ACL hides it
	}
	var first fleet.RuleFacts
	of := ""
	for i, value := range all[:min(len(all), len(names))] {
		text, _ := value.(string)
		switch facts, ok := fleet.ParseRuleFacts(text); {
		case !ok || facts.Digest != digests[i]:
		case of == "":
			first, of = facts, names[i]
		default:
			if differ, wrong := first.Against(&facts); wrong {
				f.Faults = append(f.Faults, fmt.Sprintf("nodes %s (here) and %s (there) have rules of the same names that are not the same: %s: give all one config, or names of their own",
					of, names[i], strings.Join(differ[:min(len(differ), 3)], "; ")))
			}
		}
	}
}

// judge says what is wrong; partitions are those of the config that asks, 0 for none.
func (f *Fleet) judge(partitions int) {
	fault := func(format string, args ...any) { f.Faults = append(f.Faults, fmt.Sprintf(format, args...)) }
	if f.Policy != "" && f.Policy != "noeviction" {
		fault("maxmemory-policy is %s: Redis may drop counts and blocks; set it to noeviction", f.Policy)
	}
	if f.Partitions != 0 && partitions != 0 && f.Partitions != partitions {
		fault("this config has %d partitions, so its node will not join: set fleet.partitions: %d", partitions, f.Partitions)
	}
	for i := range f.Nodes {
		switch n := &f.Nodes[i]; {
		case n.DuplicateName && (i == 0 || f.Nodes[i-1].Node != n.Node):
			fault("more than one living node is called %s: give each its own name (node: in the config)", n.Node)
		case !n.Alive:
			fault("node %s was last heard %s ago; one that was stopped for good is forgotten after an hour", n.Node, time.Duration(n.Age*float64(time.Second)).Round(time.Second))
		}
	}
}

// server reads the state of the Redis that stores the list, and says whether its functions are missing.
func (f *Fleet) server(ctx context.Context, client goredis.UniversalClient, key string) error {
	var one goredis.Cmdable = client
	if cluster, ok := client.(*goredis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return err
		}
		one = master
	}
	now, err := one.Time(ctx).Result()
	if err != nil {
		return err
	}
	f.Now = now
	if info, err := one.InfoMap(ctx, "server", "memory").Result(); err == nil {
		f.Policy = info["Memory"]["maxmemory_policy"]
		f.Redis = cmp.Or(info["Server"]["valkey_version"], info["Server"]["redis_version"])
	}
	if found, err := one.FunctionList(ctx, goredis.FunctionListQuery{LibraryNamePattern: "edgeguard*"}).Result(); err == nil {
		for _, library := range found {
			f.Libraries = append(f.Libraries, library.Name)
		}
		if !slices.Contains(f.Libraries, LibraryName) {
			f.Faults = append(f.Faults, "the function library "+LibraryName+" is not in Redis: run `edgeguard fleet install`")
		}
	}
	return nil
}
