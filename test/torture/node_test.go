package torture

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is
// measured by it.
const patience = 60 * time.Second

// node is a running edgeguard, or one that ran, and its admin API.
type node struct {
	*program.Process
	t     *testing.T
	admin *client.Client
}

// newNode writes a config, in which $DIR stands for the node's folder, and
// starts nothing.
func newNode(t *testing.T, yaml string) *node {
	t.Helper()
	n := &node{t: t, Process: program.NewNode(t, yaml)}
	var err error
	if n.admin, err = client.New(client.Config{Address: "unix:" + n.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.admin.Close() })
	return n
}

// start runs the program and returns when it answers.
func (n *node) start() {
	n.t.Helper()
	n.Launch()
	n.Until("it is ready", func() bool {
		s, err := n.admin.Status(n.t.Context())
		return err == nil && s.Ready
	})
}

func (n *node) status() admin.Stats {
	n.t.Helper()
	s, err := n.admin.Status(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// blocks returns the standing blocks by prefix.
func (n *node) blocks() map[netip.Prefix]admin.Block {
	n.t.Helper()
	found := make(map[netip.Prefix]admin.Block)
	for b, err := range n.admin.Blocks(n.t.Context(), client.Filter{}) {
		if err != nil {
			n.t.Fatal(err)
		}
		found[b.Prefix] = b.Block
	}
	return found
}

// count returns what the first rule counts of an address.
func (n *node) count(addr netip.Addr) int {
	n.t.Helper()
	e, err := n.admin.Explain(n.t.Context(), addr)
	if err != nil {
		n.t.Fatal(err)
	}
	return int(e.Rules[0].Count)
}

// dial connects to one of its sockets, once it listens there.
func (n *node) dial(network, address string) net.Conn {
	n.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		conn, err := new(net.Dialer).DialContext(n.t.Context(), network, address)
		if err == nil {
			n.t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		if errors.Is(err, context.Canceled) || time.Now().After(deadline) {
			n.t.Fatal(err)
		}
		n.Lives()
	}
}
