// Package cloudtest answers as AWS WAF and Cloudflare's Lists API do, for tests. No
// answer was recorded from a real account: their forms are from the services' own
// models and pages, which are named where they are used.
package cloudtest

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgeguard/internal/sleep"
)

// Fault is what an answer has in place of the right one.
type Fault struct {
	Status int
	Header http.Header
	Body   string
	Half   bool // the connection ends before the body does
	Hang   bool // no answer until the request is given up
	Done   bool // the request takes effect all the same
}

// faults are the answers to come, by what is asked for.
type faults struct {
	mu    sync.Mutex // guards all below
	next  map[string][]Fault
	calls []string
}

// Fail has the next calls of an operation answered with these faults, in order.
func (f *faults) Fail(operation string, all ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[operation] = append(f.next[operation], all...)
}

// Calls returns the operations that were asked for since it was last called.
func (f *faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// fails answers with the next fault of an operation, if there is one. done has the
// request take effect.
func (f *faults) fails(w http.ResponseWriter, r *http.Request, operation string, done func()) bool {
	f.mu.Lock()
	f.calls = append(f.calls, operation)
	var fault Fault
	queue := f.next[operation]
	if len(queue) > 0 {
		fault, f.next[operation] = queue[0], queue[1:]
	}
	f.mu.Unlock()
	if len(queue) == 0 {
		return false
	}
	if fault.Done {
		done()
	}
	for name, values := range fault.Header {
		w.Header()[name] = values
	}
	switch {
	case fault.Hang:
		sleep.For(r.Context(), time.Minute)
	case fault.Half:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d \r\nContent-Length: 4096\r\n\r\n%s", fault.Status, fault.Body)
			_ = conn.Close()
		}
	default:
		w.WriteHeader(fault.Status)
		_, _ = w.Write([]byte(fault.Body))
	}
	return true
}

// holds reports whether one of the prefixes, as text, contains an address.
func holds(t testing.TB, prefixes []string, addr netip.Addr) bool {
	t.Helper()
	for _, text := range prefixes {
		p, err := netip.ParsePrefix(text)
		if one, is := netip.ParseAddr(text); is == nil {
			p, err = netip.PrefixFrom(one, one.BitLen()), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
