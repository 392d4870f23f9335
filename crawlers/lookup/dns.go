// Package lookup does for package crawlers what takes files or a network: it reads the
// range files, again when they change, or asks DNS who an address is.
//
// DNS is asked at most ten times a second, and never by a request. Who owns an
// address writes its names, and as many as he likes: a name counts only if it lies
// in a crawler's domain and that domain leads back to the address, and at most two
// such names are followed.
package lookup

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/crawlers"
	"edgeguard/internal/sleep"
)

const (
	// every is the least time between two packets to DNS, retries included.
	every = time.Second / 10
	// timeout bounds all questions about one address.
	timeout = 8 * time.Second
	// together is how many addresses are asked about together. The pace allows 80
	// packets in the eight seconds of one whose name servers do not answer: half as
	// many such addresses hold up no other.
	together = 40
	// mostNames is how many names of an address are followed. A crawler has one.
	mostNames = 2
)

// Asker asks DNS about the addresses that wait in Crawlers.
type Asker struct {
	crawlers *crawlers.Crawlers
	now      func() time.Time
	resolver net.Resolver
	timeout  time.Duration
	pace     pace
}

// NewAsker returns an asker that uses the host's resolvers. dial replaces the way
// to them; nil for the usual one.
func NewAsker(c *crawlers.Crawlers, now func() time.Time, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Asker {
	a := &Asker{crawlers: c, now: now, timeout: timeout}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	a.resolver = net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := a.pace.wait(ctx); err != nil { // here, because the resolver asks again by itself
			return nil, err
		}
		return dial(ctx, network, address)
	}}
	return a
}

// Run asks until ctx is done.
func (a *Asker) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range together {
		all.Go(func() { a.work(ctx) })
	}
	all.Wait()
}

func (a *Asker) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.crawlers.Questions():
		}
		for ctx.Err() == nil {
			addr, ok := a.crawlers.NextQuestion()
			if !ok {
				break
			}
			who, definite := a.about(ctx, addr)
			a.crawlers.Answer(a.now(), addr, who, definite)
		}
	}
}

// about returns which crawlers an address is of, by forward-confirmed reverse DNS.
// definite is false if that DNS failed to say.
func (a *Asker) about(ctx context.Context, addr netip.Addr) (who uint64, definite bool) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	names, err := a.resolver.LookupAddr(ctx, addr.String())
	if len(names) == 0 {
		return 0, isDefinite(err)
	}
	definite = true
	followed := 0
	for _, name := range names {
		of := a.crawlers.Domain(name)
		if of == 0 {
			continue
		}
		if followed++; followed > mostNames {
			break
		}
		back, err := a.resolver.LookupNetIP(ctx, family(addr), strings.TrimSuffix(name, ".")+".") // the dot: no search list
		switch {
		case slices.ContainsFunc(back, func(b netip.Addr) bool { return b.Unmap() == addr }):
			who |= of
		case len(back) == 0 && !isDefinite(err):
			definite = false
		}
	}
	return who, definite
}

func family(addr netip.Addr) string {
	if addr.Is4() {
		return "ip4"
	}
	return "ip6"
}

// isDefinite reports whether an error is DNS' answer that there is nothing. A
// time-out, SERVFAIL or REFUSED says nothing about the address.
func isDefinite(err error) bool {
	var failed *net.DNSError
	return err == nil || errors.As(err, &failed) && failed.IsNotFound && !failed.IsTimeout && !failed.IsTemporary
}

// pace keeps a distance between packets.
type pace struct {
	mu   sync.Mutex // guards next
	next time.Time  // when the next may be sent
}

func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(every)
	p.mu.Unlock()
	if !sleep.For(ctx, at.Sub(now)) {
		return ctx.Err()
	}
	return nil
}
