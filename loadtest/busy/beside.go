package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
)

const (
	// entries are those of the import.
	entries = 100_000
	// bouncers ask over one connection, as behind one nginx.
	bouncers = 10
	// turns is how often each of the others asks in a round.
	turns = 50
)

// beside measures what others wait for while a flood runs: a scrape of Prometheus, an event
// of the console's stream, an import, and bouncers that share a connection.
type beside struct {
	edge *edge
	node *client.Client
	keys []string

	mu      sync.Mutex // guards what is below
	longest map[string]time.Duration
	failed  error
}

// newBeside adds the bouncers, and writes the list to import.
func newBeside(ctx context.Context, e *edge) (*beside, error) {
	node, err := client.New(client.Config{Address: "unix:" + e.path("admin.sock")})
	if err != nil {
		return nil, err
	}
	b := &beside{edge: e, node: node, longest: map[string]time.Duration{}}
	for i := range bouncers {
		added, err := node.AddBouncer(ctx, admin.BouncerRequest{Name: fmt.Sprint("bouncer", i)})
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, added.Key)
	}
	var list strings.Builder
	for i := range entries {
		fmt.Fprintf(&list, "%s\n", net.IPv4(11, byte(i>>16), byte(i>>8), byte(i)))
	}
	return b, os.WriteFile(e.path("list.txt"), []byte(list.String()), 0o600)
}

// took keeps the longest of each.
func (b *beside) took(what string, begun time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.longest[what] = max(b.longest[what], time.Since(begun))
	if err != nil && b.failed == nil {
		b.failed = fmt.Errorf("%s: %w", what, err)
	}
}

// round has all ask together, and returns what each waited for at most.
func (b *beside) round(ctx context.Context) (map[string]time.Duration, error) {
	time.Sleep(settle)
	b.longest = map[string]time.Duration{}
	var wg sync.WaitGroup
	for _, do := range []func(context.Context){b.scrape, b.stream, b.imports, b.pull} {
		wg.Go(func() { do(ctx) })
	}
	wg.Wait()
	return b.longest, b.failed
}

func (b *beside) scrape(ctx context.Context) {
	for range turns {
		begun := time.Now()
		b.took("scrape", begun, get(ctx, http.DefaultClient, "http://"+b.edge.admin+"/metrics", nil))
		time.Sleep(20 * time.Millisecond)
	}
}

// get asks once, and returns an error unless it is answered with 200.
func get(ctx context.Context, c *http.Client, address string, header http.Header) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header = header
	answer, err := c.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return nil
}

// stream reads events, and spares an address and ends it by turns for each. Blocks would
// come among those of the import.
func (b *beside) stream(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const spared = "203.0.113.78"
	begun, after, seen := time.Now(), "", 0
	change := func() (err error) {
		begun = time.Now()
		if seen%2 == 1 {
			_, err = b.node.Disallow(ctx, spared, "measured")
		} else {
			_, err = b.node.Allow(ctx, admin.AllowRequest{Prefix: spared, For: "1h", Reason: "measured"})
		}
		return err
	}
	first := time.AfterFunc(settle, func() { b.took("stream", time.Now(), change()) }) // the reader has begun by then
	defer first.Stop()
	for _, err := range b.node.Events(ctx, admin.EventAllow+","+admin.EventDisallow, &after) {
		b.took("stream", begun, err)
		if seen++; seen == turns || err != nil {
			return
		}
		if err := change(); err != nil {
			b.took("stream", begun, err)
			return
		}
	}
}

// imports imports the list. The next round needs it taken back, see remove.
func (b *beside) imports(ctx context.Context) {
	begun := time.Now()
	b.took("import", begun, b.command(ctx, "import", b.edge.path("list.txt")))
}

// remove takes the import back: a request for each block, so that it takes some time.
func (b *beside) remove(ctx context.Context) error { return b.command(ctx, "remove", "--all") }

// command runs one about the blocks of the import.
func (b *beside) command(ctx context.Context, args ...string) error {
	args = append(append([]string{"blocks"}, args...), "--owner", "busy", "--config", b.edge.path("edgeguard.yaml"))
	if out, err := exec.CommandContext(ctx, b.edge.program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// pull has the bouncers ask in turn, over one connection.
func (b *beside) pull(ctx context.Context) {
	transport := &http.Transport{MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	for i := range turns {
		header := http.Header{"X-Api-Key": {b.keys[i%bouncers]}}
		begun := time.Now()
		b.took("pull", begun, get(ctx, &http.Client{Transport: transport}, "http://"+b.edge.lapi+"/v1/decisions/stream", header))
	}
}
