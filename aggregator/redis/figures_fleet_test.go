package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/redistest"
)

// withFigures gives a node a board.
func withFigures(c *Config) {
	c.Figures = fleet.NewBoard(func([]aggregator.Span) fleet.Figures {
		return fleet.Figures{Blocks: uint32(c.Node[len("edge-")]), Rules: "0123456789abcdef"}
	})
}

// said returns whose figures a node shows, which makes it look.
func (m *member) said() string {
	var names []string
	for _, s := range m.config.Figures.KnownFigures(time.Now(), m.name, m.link.beats.boot) {
		names = append(names, fmt.Sprintf("%s:%c:%v", s.Node, rune(s.Blocks), s.Signed))
	}
	return strings.Join(names, " ")
}

// mentions counts the commands that name a word, as Redis sees them.
func mentions(t *testing.T, s *redistest.Server, word string) *atomic.Int64 {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	if line, err := lines.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatal(line, err)
	}
	found, ended := new(atomic.Int64), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(line, word) {
				found.Add(1)
			}
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return found
}

// While nobody looks, no node says anything of its figures in Redis. A look at one
// node has those of all others there, but for one that has none; with a key
// that is required they are signed.
func TestFiguresOfAFleet(t *testing.T) {
	t.Parallel()
	for _, signed := range []bool{false, true} {
		t.Run(fmt.Sprint("signed=", signed), func(t *testing.T) {
			t.Parallel()
			s := startRedis(t, redistest.Options{})
			commands := mentions(t, s, "}:figures")
			file := keyFile(t, keyOne)
			nodes := join(t, s.Addr, 4, func(c *Config) {
				if c.Node != "edge-d" {
					withFigures(c)
				}
				if signed {
					c.KeyFile, c.Require = file, true
				}
			})
			var from []uint64
			for _, m := range nodes {
				from = append(from, m.link.beats.seq.Load())
			}
			for i, m := range nodes {
				m.eventually(t, "some heartbeats", func() bool { return m.link.beats.seq.Load() >= from[i]+3 })
			}
			if n := commands.Load(); n != 0 {
				t.Errorf("%d commands about figures before anybody looked", n)
			}
			if n := s.Client().Exists(context.Background(), nodes[0].link.figures.Key).Val(); n != 0 {
				t.Error("the key exists before anybody looked")
			}
			want := fmt.Sprintf("edge-a:a:true edge-b:b:%v edge-c:c:%v", signed, signed)
			nodes[0].eventually(t, "the figures of all", func() bool { return nodes[0].said() == want })
			nodes[1].eventually(t, "the figures of all on another node", func() bool {
				return strings.HasPrefix(nodes[1].said(), "edge-b:b:true edge-a:a:") && strings.Contains(nodes[1].said(), "edge-c")
			})
			if commands.Load() == 0 {
				t.Error("the test sees no command")
			}
			for _, m := range nodes {
				if errors := m.link.Stats().Errors["figures"]; errors != 0 {
					t.Errorf("%s: %d errors", m.name, errors)
				}
			}
		})
	}
}

// Figures that a stranger made too large cost no node its session.
func TestFiguresTooLarge(t *testing.T) {
	t.Parallel()
	s := startRedis(t, redistest.Options{})
	nodes := join(t, s.Addr, 2, func(c *Config) {
		if c.Node == "edge-a" { // the other writes none, and so nothing over the stranger's
			withFigures(c)
		}
	})
	a := nodes[0]
	joins := a.link.Stats().Reconnects
	if err := thief(t, s).HSet(context.Background(), a.link.figures.Key, "edge-b", strings.Repeat("x", 2<<20)).Err(); err != nil {
		t.Fatal(err)
	}
	a.eventually(t, "an error", func() bool { a.said(); return a.link.Stats().Errors["figures"] > 0 })
	from := a.link.beats.seq.Load()
	a.eventually(t, "heartbeats after it", func() bool { return a.link.beats.seq.Load() >= from+2 })
	if got := a.link.Stats(); !got.Up || got.Reconnects != joins {
		t.Errorf("%+v", got)
	}
	if n := s.Client().Exists(context.Background(), a.link.figures.Key).Val(); n != 0 {
		t.Error("what the stranger wrote is still there")
	}
}
