package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/redistest"
)

const (
	figuresKey = "eg:{test/b}:figures"
	boot       = "0123456789abcdef"
	namespace  = "test"
)

var (
	epoch        = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	figuresNames = []string{"edge-a", "edge-b", "edge-c"}
)

// crew is some nodes on one Redis, each with the rights of a node, and a clock that
// only the test moves. The first is the one on which somebody looks.
type crew struct {
	t      *testing.T
	server *redistest.Server
	now    time.Time
	nodes  []*figuresExchange
	judges []*fleet.Authority
	looks  bool
}

func newCrew(t *testing.T, judges ...*fleet.Authority) *crew {
	t.Helper()
	line := strings.NewReplacer("ACL SETUSER", "user", "PASSWORD", "secret").Replace(ACLLine("edge", "test"))
	c := &crew{t: t, server: redistest.Start(t, redistest.Options{Users: []string{line}}), now: epoch, judges: judges}
	for i := range judges {
		c.nodes = append(c.nodes, &figuresExchange{Client: c.client(), Key: figuresKey, Timeout: 20 * time.Second,
			Board: fleet.NewBoard(func([]aggregator.Span) fleet.Figures { return fleet.Figures{Blocks: uint32(i + 1), Rules: boot} })})
	}
	return c
}

// client has the rights of a node, and its bounds.
func (c *crew) client() *goredis.Client {
	c.t.Helper()
	o := c.server.Options()
	o.Username, o.Password, o.Protocol, o.MaxRetries = "edge", "secret", 2, -1
	o.Dialer = boundedDialer(o)
	client := goredis.NewClient(o)
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// turn has each node make a step, after so long.
func (c *crew) turn(after time.Duration) (err error) {
	c.t.Helper()
	c.now = c.now.Add(after)
	var alive []aggregator.Heartbeat
	for i := range c.nodes {
		alive = append(alive, aggregator.Heartbeat{Node: figuresNames[i], Boot: boot, Looks: i == 0 && c.looks})
	}
	for i := range c.nodes {
		i = len(c.nodes) - 1 - i // who looks comes last
		err = errors.Join(err, c.nodes[i].ExchangeFigures(context.Background(), figuresTurn{
			Now: c.now, Fleet: c.now.Add(time.Hour), Node: figuresNames[i], Boot: boot, Alive: alive, Judge: c.judges[i],
		}))
	}
	return err
}

// look is what a page on the first node shows.
func (c *crew) look() string {
	c.looks = true
	var out []string
	for _, s := range c.nodes[0].Board.KnownFigures(c.now, figuresNames[0], boot) {
		out = append(out, fmt.Sprintf("%s:%d:%v", s.Node[len("edge-"):], s.Blocks, s.Signed))
	}
	return strings.Join(out, " ")
}

func (c *crew) shows(what, want string) {
	c.t.Helper()
	if got := c.look(); got != want {
		c.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func (c *crew) exists() bool {
	c.t.Helper()
	n, err := c.server.Client().Exists(context.Background(), figuresKey).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	return n == 1
}

// calls is how many commands Redis has been sent.
func (c *crew) calls() (n int) {
	c.t.Helper()
	info, err := c.server.Client().InfoMap(context.Background(), "commandstats").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	for name, line := range info["Commandstats"] {
		var calls int
		if _, err := fmt.Sscanf(line, "calls=%d,", &calls); err != nil {
			c.t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_info") {
			n += calls
		}
	}
	return n
}

// judge returns who judges by a key of this hex digit, or by none if it is "".
func judge(t testing.TB, digit string, require bool) *fleet.Authority {
	t.Helper()
	if digit == "" {
		return fleet.NewAuthority(nil, require, namespace)
	}
	k, err := aggregator.ParseSigningKeys(strings.Repeat(digit, 64))
	if err != nil {
		t.Fatal(err)
	}
	return fleet.NewAuthority(k, require, namespace)
}

func unsigned(t *testing.T, n int) (all []*fleet.Authority) {
	for range n {
		all = append(all, judge(t, "", false))
	}
	return all
}

// While nobody looks nothing is sent; while somebody does, each node's figures are
// there, and half a minute later nothing is sent again.
func TestFiguresOnlyWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	c := newCrew(t, unsigned(t, 3)...)
	quiet := func(when string) {
		t.Helper()
		before := c.calls()
		for range 20 {
			if err := c.turn(2 * time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if sent := c.calls() - before; sent != 0 {
			t.Errorf("%s: %d commands", when, sent)
		}
	}
	quiet("before anybody looked")
	c.shows("the first look", "a:1:true")
	before := c.calls()
	if err := c.turn(2 * time.Second); err != nil || !c.exists() {
		t.Fatal("nobody wrote", err)
	}
	// Two nodes write with an expiry, and one reads: connections say hello beside it.
	if sent := c.calls() - before; sent < 5 || sent > 5+3*4 {
		t.Errorf("a first turn of three nodes sent %d commands", sent)
	}
	c.shows("the next look", "a:1:true b:2:false c:3:false")
	if ttl := c.server.Client().TTL(context.Background(), figuresKey).Val(); ttl <= 0 || ttl > fleet.Expires {
		t.Errorf("the figures expire after %v", ttl)
	}
	size := len(c.server.Client().HGet(context.Background(), figuresKey, "edge-b").Val())
	if size == 0 || size > 200 {
		t.Errorf("a node's figures have %d bytes", size)
	}
	before = c.calls()
	for range 10 { // 20 s: each writes at most once in 5 s, one reads each turn
		_ = c.turn(2 * time.Second)
		c.look()
	}
	if sent := c.calls() - before; sent > 2*2*4+10+1 { // and EXISTS or TTL of the test
		t.Errorf("20 s of three nodes sent %d commands", sent)
	}
	c.looks = false // as the heartbeat says half a minute after the last look
	c.now = c.now.Add(time.Minute)
	quiet("after the last look")
}

// A node without figures writes none, and of one that ended they are too old
// soon.
func TestFiguresOfSilentNodes(t *testing.T) {
	t.Parallel()
	c := newCrew(t, unsigned(t, 3)...)
	c.nodes[2].Board = nil
	c.look()
	if err := c.turn(0); err != nil {
		t.Fatal(err)
	}
	c.shows("one without figures", "a:1:true b:2:false")
	c.nodes = c.nodes[:1]
	for range 8 {
		_ = c.turn(2 * time.Second)
	}
	c.shows("one that ended 16 s ago", "a:1:true b:2:false")
	_ = c.turn(4 * time.Second)
	c.shows("one that ended 20 s ago", "a:1:true")
}

// Figures count as heartbeats do: by the fleet's key, and where that is not required
// also without it.
func TestFiguresSigned(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		judges []*fleet.Authority
		want   string
	}{
		{"accept", []*fleet.Authority{judge(t, "5", false), judge(t, "5", true), judge(t, "", false)}, "a:1:true b:2:true c:3:false"},
		{"require", []*fleet.Authority{judge(t, "5", true), judge(t, "5", false), judge(t, "", false)}, "a:1:true b:2:true"},
		{"another key", []*fleet.Authority{judge(t, "5", true), judge(t, "6", true), judge(t, "5", true)}, "a:1:true c:3:true"},
		{"no key here", []*fleet.Authority{judge(t, "", false), judge(t, "5", true), judge(t, "", false)}, "a:1:true b:2:false c:3:false"},
	} {
		c := newCrew(t, test.judges...)
		c.look()
		if err := c.turn(0); err != nil {
			t.Fatal(err)
		}
		c.shows(test.name, test.want)
	}
}

// With a key that is required, nobody else says anything in a node's name: not by
// figures of another node, or of a heartbeat, or of an hour ago.
func TestFiguresForged(t *testing.T) {
	t.Parallel()
	j := judge(t, "5", true)
	c := newCrew(t, j, j, j)
	c.look()
	if err := c.turn(0); err != nil {
		t.Fatal(err)
	}
	ctx, thief := context.Background(), c.client()
	theirs := thief.HGet(ctx, figuresKey, "edge-c").Val()
	c.nodes = c.nodes[:1] // the others write no more
	text := fleet.Figures{Boot: boot, Blocks: 99, Rules: boot}.Encode(c.now.Add(time.Hour))
	k, _ := aggregator.ParseSigningKeys(strings.Repeat("5", 64))
	for name, value := range map[string]string{
		"of another node":  theirs,
		"unsigned":         text,
		"a MAC of nothing": text[:len(text)-1] + `,"mac":"` + strings.Repeat("0", 42) + `"}`,
		"a heartbeat's":    k.SignHeartbeat(namespace, "edge-b", text),
		"another fleet's":  k.Figures("other", "edge-b", text),
		"a changed one":    strings.Replace(k.Figures(namespace, "edge-b", text), `"blocks":99`, `"blocks":98`, 1),
	} {
		if err := thief.HSet(ctx, figuresKey, "edge-b", value).Err(); err != nil {
			t.Fatal(err)
		}
		c.two(t)
		if got := c.look(); strings.Contains(got, "b:9") || strings.Contains(got, "b:3") {
			t.Errorf("%s: %s", name, got)
		}
	}
	old := k.Figures(namespace, "edge-b", fleet.Figures{Boot: boot, Blocks: 99, Rules: boot}.Encode(c.now))
	if err := thief.HSet(ctx, figuresKey, "edge-b", old).Err(); err != nil {
		t.Fatal(err)
	}
	if c.two(t); strings.Contains(c.look(), "b:99") {
		t.Error("figures of an hour ago are shown")
	}
	if err := thief.HSet(ctx, figuresKey, "edge-b", k.Figures(namespace, "edge-b", text)).Err(); err != nil {
		t.Fatal(err)
	}
	if c.two(t); !strings.Contains(c.look(), "b:99:true") {
		t.Error("the right ones are not shown: the test shows nothing")
	}
}

// two has the first node read, while two others are alive that do not.
func (c *crew) two(t *testing.T) {
	t.Helper()
	alive := []aggregator.Heartbeat{{Node: figuresNames[0]}, {Node: figuresNames[1]}, {Node: figuresNames[2]}}
	if err := c.nodes[0].ExchangeFigures(context.Background(), figuresTurn{Now: c.now, Fleet: c.now.Add(time.Hour), Node: figuresNames[0], Boot: boot, Alive: alive, Judge: c.judges[0]}); err != nil {
		t.Fatal(err)
	}
}

// Whatever a stranger writes costs the node that looks a read a minute, and what is
// right again is shown then.
func TestFiguresHostile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	text := fleet.Figures{Boot: boot, Blocks: 99, Rules: boot}.Encode(epoch.Add(time.Hour))
	for _, test := range []struct {
		name  string
		write func(c *goredis.Client) error
		fails bool // and is deleted
	}{
		{"a megabyte", func(c *goredis.Client) error {
			return c.HSet(ctx, figuresKey, "edge-b", strings.Repeat("x", 1<<20)).Err()
		}, true},
		{"two megabytes", func(c *goredis.Client) error {
			return c.HSet(ctx, figuresKey, "edge-b", strings.Repeat("x", 2<<20)).Err()
		}, true},
		{"a little too long", func(c *goredis.Client) error {
			return c.HSet(ctx, figuresKey, "edge-b", text+strings.Repeat(" ", fleet.MostFigures)).Err()
		}, true},
		{"invalid UTF-8", func(c *goredis.Client) error { return c.HSet(ctx, figuresKey, "edge-b", "\xff\xfe{}").Err() }, false},
		{"markup", func(c *goredis.Client) error {
			return c.HSet(ctx, figuresKey, "edge-b", strings.Replace(text, `"rules":"`+boot, `"rules":"<script>alert()`, 1)).Err()
		}, false},
		{"nothing", func(c *goredis.Client) error { return c.HSet(ctx, figuresKey, "edge-b", "").Err() }, false},
		{"200,000 other nodes", func(c *goredis.Client) error {
			for i := range 20 {
				var fields []any
				for k := range 10_000 {
					fields = append(fields, fmt.Sprintf("edge-%d-%d", i, k), text)
				}
				if err := c.HSet(ctx, figuresKey, fields...).Err(); err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"another type", func(c *goredis.Client) error { return c.ZAdd(ctx, figuresKey, goredis.Z{Member: "edge-b"}).Err() }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCrew(t, unsigned(t, 2)...)
			c.look()
			if err := test.write(c.client()); err != nil {
				t.Fatal(err)
			}
			alone := c.nodes
			c.nodes = alone[:1]
			alive := []aggregator.Heartbeat{{Node: figuresNames[0], Looks: true}, {Node: figuresNames[1]}}
			step := func() error {
				return c.nodes[0].ExchangeFigures(ctx, figuresTurn{Now: c.now, Fleet: c.now.Add(time.Hour), Node: figuresNames[0], Boot: boot, Alive: alive, Judge: c.judges[0]})
			}
			if err := step(); (err != nil) != test.fails || c.exists() == test.fails {
				t.Errorf("failed %v, exists %v", err, c.exists())
			}
			c.shows("what a stranger wrote", "a:1:true")
			before := c.calls()
			_ = step()
			if sent := c.calls() - before; test.fails && sent != 0 {
				t.Errorf("%d commands after a read that failed", sent)
			}
			c.nodes = alone
			c.now = c.now.Add(time.Minute)
			c.look()
			if err := c.turn(0); err != nil {
				t.Fatal(err)
			}
			c.shows("a minute later", "a:1:true b:2:false")
		})
	}
}
