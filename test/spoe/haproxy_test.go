package spoe

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edgeguard/cmd/edgeguard/snippets"
)

func TestHAProxy(t *testing.T) {
	dir := folder(t)
	g, _ := startGuard(t, filepath.Join(dir, "spoe.sock"), 2)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + g.path, Headers: []string{"x-api-key"}}, patient)
	const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128"
	for client, from := range map[string]string{"127.0.0.5": "127.0.0.5", "::1": "::1", "203.0.113.9": "127.0.0.6", "2001:db8::9": "127.0.0.7"} {
		header := []string{"Host", "a.example:8080", "User-Agent", agent, "Referer", "https://a.example/?x=1,2", "Sec-Fetch-Site", "same-origin", "X-Api-Key", "k 1", "X-Forwarded-For", "1.1.1.1"}
		if client != from {
			header = append(header, "X-Test-Client", client)
		}
		for i := range 2 {
			if a := ask(t, p, from, "POST", "/login/%2e?a=1&b=%20", header...); a.status != 204 || a.header.Get("X-Spoe-Error") != "" {
				t.Fatalf("%s, request %d: %+v", client, i, a)
			}
			want := client + " POST a.example:8080 /login/%2e?a=1&b=%20 agent=" + agent + " referer=https://a.example/?x=1,2 site=same-origin key=k 1"
			if _, got := g.last(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if a := ask(t, p, from, "GET", "/", header...); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "42" || a.body != "slow down" {
			t.Errorf("%s over its limit: %+v", client, a)
		}
	}
	if a := ask(t, p, "127.0.0.8", "GET", "/"); a.status != 204 {
		t.Errorf("the neighbour: %+v", a)
	}
	if _, got := g.last(); got != "127.0.0.8 GET 127.0.0.1:"+p.port+" / agent=Go-http-client/1.1 referer= site= key=" {
		t.Errorf("without the headers: %q", got)
	}
}

// The longest request that HAProxy reads by itself is asked about, whole: otherwise a
// client would pass uncounted by writing one.
func TestLongestRequest(t *testing.T) {
	g, _ := startGuard(t, filepath.Join(folder(t), "spoe.sock"), 1000)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + g.path}, patient)
	asked := 0
	for _, part := range []string{"path", "User-Agent", "Referer", "Sec-Fetch-Site"} {
		longest := 0
		for n := 16384; n > 12000 && longest == 0; n -= 8 {
			path, header := "/", []string(nil)
			if part == "path" {
				path = "/" + strings.Repeat("x", n)
			} else {
				header = []string{part, strings.Repeat("x", n)}
			}
			// HAProxy closes on what is too long, perhaps before it was sent.
			if a, err := try(p, "127.0.0.5", "GET", path, header...); err == nil && a.status == 204 {
				longest = n
				if a.header.Get("X-Spoe-Error") != "" {
					t.Errorf("%s of %d bytes passed unasked: error %s", part, n, a.header.Get("X-Spoe-Error"))
				}
				asked++
			}
		}
		if got, last := g.last(); longest == 0 || got != asked || !strings.Contains(last, strings.Repeat("x", longest)) {
			t.Errorf("%s of %d bytes: %d of %d were asked about", part, longest, got, asked)
		}
	}
}

// Many at once: each is counted once, and each gets its own verdict.
func TestManyAtOnce(t *testing.T) {
	const clients, requests, limit = 40, 50, 30
	g, _ := startGuard(t, filepath.Join(folder(t), "spoe.sock"), limit)
	p := startProxy(t, snippets.Values{Spoe: "unix:" + g.path}, patient)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			refused := 0
			for range requests {
				a, err := try(p, "127.0.0.1", "GET", "/", "X-Test-Client", fmt.Sprintf("203.0.113.%d", i))
				if err != nil || a.header.Get("X-Spoe-Error") != "" {
					t.Errorf("%+v, %v", a, err)
					return
				}
				if a.status == http.StatusTooManyRequests {
					refused++
				}
			}
			if refused != requests-limit {
				t.Errorf("client %d: %d refused, want %d", i, refused, requests-limit)
			}
		})
	}
	wg.Wait()
	if n, _ := g.last(); n != clients*requests {
		t.Errorf("asked about %d, want %d", n, clients*requests)
	}
}

// While edgeguard is hung or gone, requests pass as the snippet is, or are refused
// where that was chosen. Back again, it is asked.
func TestFailOpen(t *testing.T) {
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprint("closed=", closed), func(t *testing.T) {
			path := filepath.Join(folder(t), "spoe.sock")
			g, stop := startGuard(t, path, 0)
			p := startProxy(t, snippets.Values{Spoe: "unix:" + path, Closed: closed}, asItIs)
			without := 204
			if closed {
				without = http.StatusServiceUnavailable
			}
			refuses := func() bool { return ask(t, p, "127.0.0.5", "GET", "/").status == http.StatusTooManyRequests }
			until(t, "edgeguard refuses", refuses)
			wake := g.hang()
			defer wake()
			if a := ask(t, p, "127.0.0.5", "GET", "/"); a.status != without {
				t.Errorf("hung: %+v", a)
			}
			wake()
			until(t, "edgeguard refuses after it hung", refuses)
			stop()
			for range 20 {
				if a := ask(t, p, "127.0.0.5", "GET", "/"); a.status != without {
					t.Errorf("gone: %+v", a)
				}
			}
			until(t, "HAProxy knows that edgeguard is gone", func() bool { return p.serverIs("DOWN") })
			if a := ask(t, p, "127.0.0.5", "GET", "/"); a.status != without {
				t.Errorf("known to be gone: %+v", a)
			}
			startGuard(t, path, 0)
			until(t, "edgeguard refuses after it was gone", refuses)
		})
	}
}
