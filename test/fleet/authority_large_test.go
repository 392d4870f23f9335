package fleet

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// What he writes once may be of any size: it keeps the nodes from their fleet only
// until they have removed it.
func TestWhoWritesTooMuch(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	p := netip.MustParsePrefix("203.0.113.10/32")
	g.block(g.nodes[0], p)
	th := g.thief()
	large := strings.Repeat("a", 1_000_000)
	pipe := th.client.Pipeline()
	for i := range 40 {
		pipe.XAdd(background, &goredis.XAddArgs{Stream: blocksKey("watch"), Values: []any{"k", large}})
		pipe.HSet(background, blocksKey("blocks"), fmt.Sprintf("10.0.%d.0/24", i), large)
		pipe.HSet(background, blocksKey("macs"), fmt.Sprintf("10.0.%d.0/24", i), large)
	}
	var seen []goredis.Z
	for i := range 1<<15 + 1 {
		pipe.HSet(background, blocksKey("nodes"), fmt.Sprintf("x%d/%016x", i, i), fmt.Sprintf("%d {}", time.Now().Unix()))
		seen = append(seen, goredis.Z{Score: float64(time.Now().Unix() + 5), Member: i})
	}
	pipe.ZAdd(background, blocksKey("seen"), seen...)
	if _, err := pipe.Exec(background); err != nil {
		t.Fatal(err)
	}
	last := g.nodes[len(g.nodes)-1]
	last.Stop()
	if err := os.RemoveAll(last.Path("state")); err != nil {
		t.Fatal(err)
	}
	last.Launch()
	g.nodes[0].reload()
	for _, n := range g.nodes {
		n.joined()
	}
	g.all(p, true)
	g.nodes[0].Until("Redis is as small as before", func() bool {
		return g.redis.HLen(background, blocksKey("nodes")).Val() < 10 && g.redis.MemoryUsage(background, blocksKey("blocks")).Val() < 100_000
	})
	g.block(last, netip.MustParsePrefix("203.0.113.11/32"))
}

// Who reads Redis can fill its memory with answers that he does not read. With
// client-output-buffer-limit he cannot.
func TestWhoDoesNotReadAnswers(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	if err := g.redis.Set(background, "filler", strings.Repeat("a", 1<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	g.as("reader", "reader", "~* -@all +@read")
	g.setting("maxmemory", "32mb")
	conn := g.unread("GETRANGE filler 0 -1", 100)
	for _, n := range g.nodes {
		n.Until(n.name+" is cut off", func() bool { s, err := n.admin.Status(background); return err == nil && !s.Fleet.Up })
	}
	conn.Close()
	for _, n := range g.nodes {
		n.joined()
	}
	g.setting("client-output-buffer-limit", "normal 8mb 4mb 10")
	if err := g.redis.ConfigResetStat(background).Err(); err != nil {
		t.Fatal(err)
	}
	g.unread("GETRANGE filler 0 -1", 100)
	g.nodes[0].Until("Redis closes the connection", func() bool {
		return strings.Contains(g.redis.Info(background, "commandstats").Val(), "cmdstat_getrange:") &&
			!strings.Contains(g.redis.ClientList(background).Val(), "user=reader")
	})
	g.block(g.nodes[0], netip.MustParsePrefix("203.0.113.10/32"))
}

func (g *guarded) setting(name, value string) {
	g.t.Helper()
	if err := g.redis.ConfigSet(background, name, value).Err(); err != nil {
		g.t.Fatal(err)
	}
}

// unread sends a command of the reader's so many times, and reads no answer.
func (g *guarded) unread(command string, times int) net.Conn {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.server.Addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, "AUTH reader reader\r\n", strings.Repeat(command+"\r\n", times)); err != nil {
		g.t.Fatal(err)
	}
	return conn
}
