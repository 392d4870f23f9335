package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// userLine turns the command that operators are given into a line of an ACL
// file.
func userLine(command, password string) string {
	line := strings.Replace(command, "ACL SETUSER ", "user ", 1)
	return strings.Replace(line, ">PASSWORD", ">"+password, 1)
}

// Faults 23 and 24: a fleet over TLS whose nodes may do only what the line in
// the manual allows works fully. The same user may do nothing else, and another
// user or a client without one nothing at all.
func TestLeastPrivilege(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	server := redistest.Start(t, redistest.Options{TLS: true, Password: "operator", Users: []string{
		userLine(redis.ACLLine("edge", namespace), "node"),
		userLine(redis.LoaderACL("loader"), "loader"),
		"user stranger on >stranger ~other:* &other:* +@all -@dangerous",
	}})
	loader := server.Options()
	loader.Username, loader.Password = "loader", "loader"
	as := goredis.NewClient(loader)
	if _, err := redis.Install(background, as); err != nil {
		t.Fatalf("the loader's user: %v", err)
	}
	forbidden(t, as, "the loader's user", [][]any{{"get", clockKey(0)}, {"eval", "return 1", 0}, {"flushall", "async"}, {"function", "flush"}})

	f := newFleetAt(t, settings{Bare: true, Quiet: true}, server.Client(), func(_ int, c *redis.Config) *redistest.Proxy {
		proxy := redistest.NewProxy(t, server.Addr)
		c.Addresses = []string{"rediss://edge:node@" + proxy.Addr}
		c.TLS.CA = server.CAFile()
		return proxy
	})
	f.start()
	f.feed()
	for range size(8, 40) {
		f.pause(400 * time.Millisecond)
		f.nodes[f.rng.IntN(len(f.nodes))].proxy.Cut()
	}
	f.standing(1)
	if _, ok := f.nodes[1].list.Lift(manual(1, f.nodes[1]).Prefix, time.Now(), "by hand", "edge-2"); !ok {
		t.Error("the block cannot be lifted")
	}
	f.eventually("the unblock to be everywhere", func() bool { return !f.nodes[0].refuses(manual(1, f.nodes[0]).Prefix.Addr()) })
	f.check("cuts, with a node's user")
	f.rest()
	f.agree()
	f.mustHaveWorked()
	for _, n := range f.nodes {
		if s := n.link.Stats(); strings.Contains(s.LastError, "NOPERM") || strings.Contains(s.LastError, "permission") {
			t.Errorf("%s: %s", n.name, s.LastError)
		}
	}
	f.strangers(server)
}

// strangers try what must be refused.
func (f *fleet) strangers(server *redistest.Server) {
	f.t.Helper()
	partition, key := f.key(0)
	count := []any{"fcall", redis.LibraryName + "_push", 2, clockKey(partition), key,
		aggregator.NewHeader(observer, time.Now(), f.width()).Append(nil),
		(&aggregator.Push{First: f.slot(time.Now()), Sum: 50_000, Counts: []uint16{50_000}}).AppendBody(nil)}
	block := []any{"hset", blocksKey("blocks"), "198.51.100.1/32", "x"}
	own := [][]any{
		{"flushall", "async"}, {"flushdb", "async"}, {"keys", "*"}, {"config", "get", "*"}, {"shutdown", "nosave"},
		{"eval", "return 1", 0}, {"script", "load", "return 1"}, {"function", "load", "replace", redis.LibrarySource}, {"function", "delete", redis.LibraryName},
		{"acl", "list"}, {"monitor"}, {"get", "other:1"}, {"set", "eg:{another/0}:c", "claimed"}, {"xadd", "eg:{another/b}:stream", "*", "v", "1"},
		{"publish", "other", "x"}, {"subscribe", "other"}, {"client", "list"}, {"rename", blocksKey("blocks"), blocksKey("x")},
	}
	for user, tries := range map[string][][]any{
		"edge":     own,
		"stranger": {count, block, {"hgetall", blocksKey("nodes")}, {"del", blocksKey("blocks")}, {"set", clockKey(0), "claimed"}, {"xadd", blocksKey("stream"), "*", "v", "1"}},
		"":         {count, block, {"ping", "x"}, {"hgetall", blocksKey("nodes")}},
	} {
		o := server.Options()
		o.Username, o.Password = user, map[string]string{"edge": "node", "stranger": "stranger"}[user]
		forbidden(f.t, goredis.NewClient(o), "user "+user, tries)
	}
	stored, err := f.stored([]int{0}, f.settled())
	if err != nil {
		f.t.Fatal(err)
	}
	if stored[0].parts[observer] != 0 {
		f.t.Error("a stranger's count is in a total")
	}
}

// forbidden tries commands that must be refused.
func forbidden(t testing.TB, client *goredis.Client, who string, tries [][]any) {
	t.Helper()
	defer client.Close()
	for _, try := range tries {
		ctx, cancel := context.WithTimeout(background, 10*time.Second)
		err := client.Do(ctx, try...).Err()
		cancel()
		if err == nil || !(strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "NOAUTH") || strings.Contains(err.Error(), "permission")) {
			t.Errorf("%s may do %v: %v", who, try[:min(2, len(try))], err)
		}
	}
}
