package fleet

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"testing"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// network is one node's connections to the servers of a Sentinel set: a proxy
// for each, so that the node can be cut off from any of them, and Sentinels
// that name each server by its proxy, as they do behind address translation.
type network struct {
	master, replica *redistest.Proxy
	sentinels       []*redistest.Proxy
}

// newNetwork makes a node's connections, and sets the config that uses them.
func newNetwork(t testing.TB, s *redistest.Sentinel, c *redis.Config) *network {
	t.Helper()
	ports := new(sync.Map) // as the servers name each other → as the node does
	name := func(addr string, p *redistest.Proxy) *redistest.Proxy {
		ports.Store(portOf(addr), portOf(p.Addr))
		return p
	}
	n := &network{
		master:  name(s.Named(), redistest.NewProxy(t, s.Master.Addr)),
		replica: name(s.Replica.Addr, redistest.NewProxy(t, s.Replica.Addr)),
	}
	for _, watcher := range s.Sentinels {
		p := name(watcher.Addr, redistest.NewProxy(t, newTranslator(t, watcher.Addr, ports)))
		n.sentinels = append(n.sentinels, p)
		c.Addresses = append(c.Addresses, p.Addr)
	}
	c.Sentinel = redistest.MasterName
	return n
}

// part cuts the node off from one side, the old master's or all others, and
// connects it to the other.
func (n *network) part(withOld bool) {
	gone := redistest.Fault{Swallow: true}
	if !withOld {
		n.master.Set(gone)
		return
	}
	n.replica.Set(gone)
	for _, p := range n.sentinels {
		p.Set(gone)
	}
}

func (n *network) heal() {
	for _, p := range append(n.sentinels, n.master, n.replica) {
		p.Heal()
	}
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// newTranslator is a proxy of a Sentinel until the test ends. It replaces the
// ports in its answers with those that a node knows. It returns its address.
func newTranslator(t testing.TB, target string, ports *sync.Map) string {
	t.Helper()
	back := func(to io.Writer, from io.Reader) {
		lines, out := bufio.NewReader(from), bufio.NewWriter(to)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			words := strings.Split(strings.TrimSuffix(line, "\r\n"), " ")
			for i, word := range words {
				if port, ok := ports.Load(word); ok {
					words[i] = port.(string)
				}
			}
			// The length of a text stands before it: ports have five digits.
			if _, err := out.WriteString(strings.Join(words, " ") + "\r\n"); err != nil {
				return
			}
			if lines.Buffered() == 0 && out.Flush() != nil {
				return
			}
		}
	}
	return newTapBothWays(t, target, func([][]byte) {}, back).addr
}
