package fleet

import (
	"bytes"
	"strings"
	"testing"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// Fault 33: in a rolling upgrade nodes of two versions share a Redis, each with
// its own library, and one fleet. A proxy turns this version's nodes into the
// next one's, by changing the name of the functions that they call.
func TestTwoVersions(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const next = "edgeguard2"
	server := redistest.Start(t, redistest.Options{})
	source := strings.ReplaceAll(redis.LibrarySource, redis.LibraryName, next)
	if err := server.Client().FunctionLoad(background, source).Err(); err != nil {
		t.Fatal(err)
	}
	f := newFleetAt(t, settings{Nodes: 4}, server.Client(), func(i int, c *redis.Config) *redistest.Proxy {
		target := server.Addr
		if i >= 2 {
			target = newTap(t, target, func(command [][]byte) {
				if len(command) > 1 && bytes.HasPrefix(bytes.ToLower(command[0]), []byte("fcall")) {
					command[1] = bytes.Replace(command[1], []byte(redis.LibraryName), []byte(next), 1)
				}
			}).addr
		}
		proxy := redistest.NewProxy(t, target)
		c.Addresses = []string{proxy.Addr}
		return proxy
	})
	f.start()
	f.feed()
	for _, reader := range []string{redis.LibraryName, next} {
		f.lua = reader
		f.pause(f.Window / 30)
		f.check("both versions counted, as read by " + reader)
	}
	f.standing(1)
	f.rest()
	f.agree()
	// The old one is taken away: its nodes say what is missing, the new go on.
	if err := server.Client().FunctionDelete(background, redis.LibraryName).Err(); err != nil {
		t.Fatal(err)
	}
	f.feed()
	for i, n := range f.nodes {
		if i < 2 {
			f.eventually(n.name+" to miss its library", func() bool { return n.link.Stats().Fault.Kind == "library" })
		} else if s := n.link.Stats(); !s.Up {
			t.Errorf("%s is not up: %s", n.name, s.Fault.Text)
		}
	}
	f.install()
	f.up()
	f.check("a downgrade")
	f.rest()
	f.agree()
	f.mustHaveWorked()
}
