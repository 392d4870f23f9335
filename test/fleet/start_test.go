package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// badStart is what may be wrong with Redis when nodes start.
type badStart struct {
	name    string
	options redistest.Options
	way     func(dir string, i int, c *redis.Config)
	bare    bool
	before  func(f *fleet, s *redistest.Server)
	fault   string // its kind
	says    string // what an operator reads
	fix     func(f *fleet, s *redistest.Server, dir string)
}

var badStarts = []badStart{
	{
		name:   "missing",
		before: func(_ *fleet, s *redistest.Server) { s.Kill() },
		fault:  "unreachable", says: "cannot be reached",
		fix: func(f *fleet, s *redistest.Server, _ string) { s.Restart(); f.install() },
	},
	{
		name: "no password", options: redistest.Options{Password: "secret"},
		fault: "password", says: "set fleet.password_file",
		fix: func(f *fleet, _ *redistest.Server, _ string) {
			f.redis.ConfigSet(background, "requirepass", "")
		},
	},
	{
		name: "wrong password", options: redistest.Options{Password: "secret"},
		fault: "password", says: "refuses the user or the password",
		way: func(dir string, _ int, c *redis.Config) {
			c.User, c.PasswordFile = "default", filepath.Join(dir, "password")
		},
		fix: func(f *fleet, _ *redistest.Server, dir string) {
			write(f.t, filepath.Join(dir, "password"), "secret\n")
		},
	},
	{
		name: "no library", bare: true,
		fault: "library", says: "edgeguard fleet install",
		fix: func(f *fleet, _ *redistest.Server, _ string) { f.install() },
	},
	{
		name: "other partitions",
		before: func(f *fleet, _ *redistest.Server) {
			f.redis.HSet(background, blocksKey("state"), "partitions", partitions+1)
		},
		fault: "partitions", says: "fleet.partitions",
		fix: func(f *fleet, _ *redistest.Server, _ string) { f.redis.Del(background, blocksKey("state")) },
	},
}

// Fault 5: Redis is missing, or refuses the nodes when they start. Each says
// why, goes on alone, and joins by itself once it can.
func TestStartWithoutRedis(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	for _, c := range badStarts {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "missing" {
				notUnderRace(t)
			}
			t.Parallel()
			dir := t.TempDir()
			if c.name == "wrong password" {
				write(t, filepath.Join(dir, "password"), "guess\n")
			}
			server := redistest.Start(t, c.options)
			f := newFleet(t, settings{Bare: c.bare, Rate: 300, Way: func(i int, config *redis.Config) {
				if c.way != nil {
					c.way(dir, i, config)
				}
			}}, server)
			if c.before != nil {
				c.before(f, server)
			}
			begun := time.Now()
			for _, n := range f.nodes {
				n.start()
			}
			f.feed()
			for _, n := range f.nodes {
				f.eventually(n.name+" to say what is wrong", func() bool { return n.link.Stats().Fault.Kind == c.fault })
				if text := n.link.Stats().Fault.Text; !strings.Contains(text, c.says) || n.alarm("fleet", "redis") == "" {
					t.Errorf("it says %q, and alarms %q", text, n.alarm("fleet", "redis"))
				}
			}
			said := time.Since(begun)
			tries := f.watchTries(time.Duration(size(3, 30)) * time.Second)
			mended := time.Now()
			c.fix(f, server, dir)
			f.up()
			joined := time.Since(mended)
			f.check("Redis came")
			t.Logf("said after %v, joined %v after the mend; tries %s", said.Round(time.Millisecond), joined.Round(time.Millisecond), tries)
		})
	}
}

// A Redis that is loading its data answers, and accepts nothing.
func TestStartWhileRedisLoads(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const records, wait = 15_000, 200 // each takes so many microseconds to load, and Redis answers between every thousand
	server := redistest.Start(t, redistest.Options{AOF: true, Args: []string{
		"--key-load-delay", strconv.Itoa(wait),
	}})
	f := newFleet(t, settings{Rate: 300}, server)
	pipe := server.Client().Pipeline()
	for i := range records {
		pipe.Set(background, fmt.Sprintf("filler %d", i), "x", 0)
	}
	if _, err := pipe.Exec(background); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	var restart sync.WaitGroup
	restart.Go(server.Restart) // returns when it has loaded
	for _, n := range f.nodes {
		n.start()
	}
	f.feed()
	for _, n := range f.nodes {
		f.eventually(n.name+" to say that Redis is loading", func() bool { return n.link.Stats().Fault.Kind == "loading" })
	}
	restart.Wait()
	loaded := time.Now()
	f.up()
	t.Logf("joined %v after Redis had loaded", time.Since(loaded).Round(time.Millisecond))
	f.check("Redis had loaded")
}

// watchTries records for a while when each node tries to connect, and checks
// that nodes that lost Redis together do not come back together.
func (f *fleet) watchTries(span time.Duration) string {
	f.t.Helper()
	var mu sync.Mutex // guards waits
	var waits []time.Duration
	var watching sync.WaitGroup
	for _, n := range f.nodes {
		watching.Go(func() {
			seen, at := n.proxy.Connections(), time.Time{}
			for begun := time.Now(); time.Since(begun) < span; time.Sleep(2 * time.Millisecond) {
				if now := n.proxy.Connections(); now != seen {
					if !at.IsZero() {
						mu.Lock()
						waits = append(waits, time.Since(at))
						mu.Unlock()
					}
					seen, at = now, time.Now()
				}
			}
		})
	}
	watching.Wait()
	slices.Sort(waits)
	if len(waits) < 6 {
		return "by standing connections"
	}
	least, most := waits[len(waits)/10], waits[len(waits)-1]
	if most-least < most/4 {
		f.t.Errorf("%d tries are %v to %v apart: too much alike", len(waits), least, most)
	}
	return fmt.Sprintf("%v to %v apart", least.Round(time.Millisecond), most.Round(time.Millisecond))
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
