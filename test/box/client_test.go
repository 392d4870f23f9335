package box

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Clients. Each is another host to the box.
const (
	offender  = "203.0.113.7"
	neighbour = "203.0.113.8" // of the same network
	network   = "203.0.113.0/24"
	brief     = "203.0.113.9" // whose block is short
	late      = "203.0.113.10"
)

// An answer is what a client received: a status, or none.
type answer int

const none answer = 0

// passed reports whether the site answered. Not every box has a page there.
func (a answer) passed() bool {
	return a >= 200 && a < 500 && a != http.StatusForbidden && a != http.StatusTooManyRequests
}

// refused reports whether a proxy refused.
func (a answer) refused() bool { return a == http.StatusForbidden || a == http.StatusTooManyRequests }

// get sends one request from an address, on a connection of its own. The kernel connects
// soon, or drops the packets; a server on a busy machine takes longer to answer.
func (b *box) get(from, path string) answer {
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0)), Timeout: 2 * time.Second}
	host := b.addr
	if strings.Contains(from, ":") {
		host = "[" + b.addr6 + "]"
	}
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext},
		Timeout:   20 * time.Second,
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
	answered, err := client.Do(r)
	if err != nil {
		return none
	}
	_ = answered.Body.Close()
	return answer(answered.StatusCode)
}

// passes fails if the site does not answer an address.
func (b *box) passes(from string) {
	b.t.Helper()
	if got := b.get(from, "/"); !got.passed() {
		b.t.Fatalf("%s: answer %d, and it was to pass", from, got)
	}
}
