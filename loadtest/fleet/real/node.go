package real

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

// patience bounds each wait for a process.
const patience = 30 * time.Second

// node is one edgeguard of the fleet.
type node struct {
	folder  string
	process *program.Child
	tap     *tap
	api     *client.Client

	mu      sync.Mutex                 // guards the fields below
	blocked map[netip.Prefix]time.Time // since when it refuses whom, by its own clock
	failed  error                      // of the stream of its events
}

// config is a node's: forward auth over a unix socket counts, so that each
// request is answered, and none is lost. Blocks of other nodes are not held back
// by confirm_share, though attackers are most of this traffic, unless the fleet says so.
func config(folder, name string, f *fleet) string {
	share := 1.0
	if f.held {
		share = 0.2
	}
	return fmt.Sprintf(`node: %s
state: %[2]s/state
memory: 64MB
wide: off
samples: 0
listen: {auth: ["unix:%[2]s/auth"], admin: ["unix:%[2]s/admin"]}
rules:
  - {name: site, threshold: %d, window: %s, block_for: 1h}
fleet: {redis: "unix://%[2]s/redis", namespace: test, max_nodes: %[5]d, confirm_share: %[6]g}
`, name, folder, f.scenario.Limit, f.scenario.Window, f.scenario.Nodes, share)
}

// startNode starts a node, and waits for nothing.
func (f *fleet) startNode(i int) (*node, error) {
	n := &node{folder: filepath.Join(f.folder, fmt.Sprint(i)), blocked: map[netip.Prefix]time.Time{}}
	if err := os.Mkdir(n.folder, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(n.folder, "config.yaml")
	if err := os.WriteFile(file, []byte(config(n.folder, nodeName(i), f)), 0o600); err != nil {
		return nil, err
	}
	var err error
	if n.api, err = client.New(client.Config{Address: "unix:" + filepath.Join(n.folder, "admin")}); err != nil {
		return nil, err
	}
	if n.tap, err = newTap(filepath.Join(n.folder, "redis"), f.redis.Addr, &f.ledger); err != nil {
		return nil, err
	}
	if n.process, err = program.StartChild(filepath.Join(n.folder, "log"), f.program, "serve", "--config", file); err != nil {
		n.tap.end()
		return nil, err
	}
	return n, nil
}

// nodeName is the name of node i, which is in its heartbeats and records.
func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// stop ends it, with what it still has to say to Redis.
func (n *node) stop() {
	n.api.Close()
	n.process.Stop()
	n.tap.end()
}

// joined waits until the node sees so many nodes of its fleet.
func (n *node) joined(ctx context.Context, nodes int) error {
	for begun := time.Now(); ; {
		status, err := n.api.Status(ctx)
		if err == nil && status.Ready && status.Fleet != nil && status.Fleet.Up && status.Fleet.Alive == nodes {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.process.Ended():
			return fmt.Errorf("edgeguard ends at once: %s", program.LastLine([]byte(n.process.Said())))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("edgeguard does not join its fleet: %v %v: %s", err, status.Alarms(), program.LastLine([]byte(n.process.Said())))
		}
	}
}

// listen notes blocks as they come, until ctx ends.
func (n *node) listen(ctx context.Context) {
	after := "0" // also what came before this was heard
	for event, err := range n.api.Events(ctx, admin.EventBlock, &after) {
		n.mu.Lock()
		if err != nil && ctx.Err() == nil {
			n.failed = fmt.Errorf("events of %s: %w", n.folder, err)
		}
		if err == nil && event.Block != nil {
			if _, again := n.blocked[event.Block.Prefix]; !again {
				n.blocked[event.Block.Prefix] = event.Time
			}
		}
		n.mu.Unlock()
	}
}

// since returns when the node blocked a prefix.
func (n *node) since(prefix netip.Prefix) (at time.Time, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok = n.blocked[prefix]
	return at, ok
}
