package scale

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pages are open as a browser has them: of five, two are the list, two an address,
// and one a rule.
type pages struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	// streams are the pages that have one. The others load themselves again.
	streams atomic.Int64
}

// step is how often a page that has no stream asks again, and a page of a rule asks
// for an outcome.
const step = 5 * time.Second

// open opens pages, and returns when all have been shown once and have their streams.
func (n *node) open(ctx context.Context, o *Options) (*pages, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &pages{cancel: cancel}
	errs := make(chan error, o.Pages)
	for i := range o.Pages {
		p.all.Go(func() { p.watch(ctx, n, o, i, errs) })
	}
	for range o.Pages {
		if err := <-errs; err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pages) close() {
	p.cancel()
	p.all.Wait()
}

// row is the address of a row of a list, as its link has it.
var row = regexp.MustCompile(`<td class="who"><a class="mono" href="/(?:address|network)/([^"]+)"`)

// watch is the i-th page: it is shown, and is then open until ctx ends. It reports
// once, when it was shown and has its stream.
func (p *pages) watch(ctx context.Context, n *node, o *Options, i int, shown chan<- error) {
	switch i % 5 {
	case 0, 1:
		path := "/blocked"
		if i%2 == 1 {
			path += "?rule=" + otherRule
		}
		body, err := n.get(ctx, path)
		prefixes := url.Values{"kind": {"block,unblock"}}
		for _, found := range row.FindAllStringSubmatch(string(body), -1) {
			prefixes.Add("prefix", found[1])
		}
		p.stay(ctx, n, prefixes, path, func() { shown <- err })
	case 2, 3:
		addr := address(rand.IntN(o.Keys)).String()
		_, err := n.get(ctx, "/address/"+addr)
		p.stay(ctx, n, url.Values{"prefix": {addr}, "kind": {"block,unblock"}}, "/address/"+addr, func() { shown <- err })
	default:
		_, err := n.get(ctx, "/rules/"+rule)
		shown <- err
		n.repeat(ctx, func() string {
			return fmt.Sprintf("/api/v1/rules/%s/outcome?threshold=%d", rule, 100+rand.IntN(threshold))
		})
	}
}

// stay reads a page's stream; where the node has none, or no place for one, it loads
// the page again and again. It calls opened once, when it is one or the other.
func (p *pages) stay(ctx context.Context, n *node, watched url.Values, path string, opened func()) {
	stream := n.stream(ctx, watched)
	if stream == nil {
		opened()
		n.repeat(ctx, func() string { return path })
		return
	}
	defer stream.Close()
	p.streams.Add(1)
	opened()
	_, _ = io.Copy(io.Discard, stream) // until ctx ends
}

// stream opens a page's stream; nil if there is none.
func (n *node) stream(ctx context.Context, watched url.Values) io.ReadCloser {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost/api/v1/watch?"+watched.Encode(), nil)
	if err != nil {
		return nil
	}
	answer, err := n.http.Do(r)
	if err != nil {
		return nil
	}
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		return answer.Body
	}
	_ = answer.Body.Close()
	return nil
}

// repeat asks every step until ctx ends.
func (n *node) repeat(ctx context.Context, path func() string) {
	for ticks := time.NewTicker(step); ; {
		select {
		case <-ticks.C:
			_, _ = n.get(ctx, path()) // the next one is asked for all the same
		case <-ctx.Done():
			ticks.Stop()
			return
		}
	}
}
