package cloud

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/enforce"
)

// What repeats the secrets that it was sent, such as a proxy in between, shows none.
func TestSecretsOfAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "refused: "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	c := newClient()
	defer c.Close()
	a, err := c.SendRequest(t.Context(), http.MethodGet, server.URL, http.Header{"Authorization": {"Bearer T0SECRET"}}, nil, "T0SECRET", "")
	if err != nil || string(a.Body) != "refused: Bearer …" {
		t.Errorf("%s, %v", a.Body, err)
	}
}

// A redirect is an error that names the host alone.
func TestRedirect(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://login.example.org/?from=secret", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	c := newClient()
	defer c.Close()
	_, err := c.SendRequest(t.Context(), http.MethodPost, server.URL, http.Header{}, nil)
	if want := "it redirects to login.example.org with status 307, which is not followed: look for a proxy or a login page in between"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// An API that says how long it wants no call gets none.
func TestRetryAfter(t *testing.T) {
	var calls int
	after := "300"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	for text, want := range map[string]int{"300": 1, "99999999": 1, "Fri, 31 Dec 9999 23:59:59 GMT": 1, "0": 2, "-7": 2, "x": 2, "Fri, 02 Jan 1970 00:00:00 GMT": 2, "": 2} {
		after, calls = text, 0
		c := newClient()
		_, first := c.SendRequest(t.Context(), http.MethodGet, server.URL, http.Header{}, nil)
		_, second := c.SendRequest(t.Context(), http.MethodGet, server.URL, http.Header{}, nil)
		if first != nil || calls != want || (second == nil) != (want == 2) {
			t.Errorf("%q: %d calls, %v, %v", text, calls, first, second)
		}
		if a := c.until.Load(); a != nil && time.Until(a.until) > mostWait {
			t.Errorf("%q: until %v", text, a.until)
		}
		c.Close()
	}
}

// slowly is Hottest by other means: each place is given to the best that is left.
func slowly(entries []enforce.Entry, most int, holds func(netip.Prefix) bool, rank Rank) (kept []netip.Prefix, left int) {
	inside := func(p, outer netip.Prefix) bool { return outer.Bits() <= p.Bits() && outer.Contains(p.Addr()) }
	best := func(p netip.Prefix) (refusals uint32) {
		for _, e := range entries {
			if holds(e.Prefix) && inside(e.Prefix, p) {
				n, _ := rank(e.Prefix)
				refusals = max(refusals, n)
			}
		}
		return refusals
	}
	var outer []netip.Prefix
	for _, e := range entries {
		if holds(e.Prefix) && !slices.ContainsFunc(entries, func(o enforce.Entry) bool {
			return o.Prefix != e.Prefix && holds(o.Prefix) && inside(e.Prefix, o.Prefix)
		}) {
			outer = append(outer, e.Prefix)
		}
	}
	for len(kept) < most && len(outer) > 0 {
		at := 0
		for i, p := range outer {
			_, last := rank(p)
			_, other := rank(outer[at])
			if n, m := best(p), best(outer[at]); n > m || n == m && last.After(other) {
				at = i
			}
		}
		kept = append(kept, outer[at])
		outer = slices.Delete(outer, at, at+1)
	}
	slices.SortFunc(kept, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	for _, e := range entries {
		if !slices.ContainsFunc(kept, func(p netip.Prefix) bool { return inside(e.Prefix, p) }) || !holds(e.Prefix) {
			left++
		}
	}
	return kept, left
}

func TestHottest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		all := make(map[netip.Prefix]bool)
		for range dice.IntN(25) {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(dice.IntN(32))}), 26+dice.IntN(7))
			if dice.IntN(3) == 0 {
				p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 7: byte(dice.IntN(8))}), 60+dice.IntN(5))
			}
			all[p.Masked()] = true
		}
		var entries []enforce.Entry
		hits, at := make(map[netip.Prefix]uint32), make(map[netip.Prefix]time.Time)
		for p := range all {
			entries = append(entries, enforce.Entry{Prefix: p})
			hits[p], at[p] = uint32(dice.IntN(4)), time.Unix(int64(dice.IntN(4)), 0)
		}
		slices.SortFunc(entries, func(a, b enforce.Entry) int {
			if c := a.Prefix.Addr().Compare(b.Prefix.Addr()); c != 0 {
				return c
			}
			return a.Prefix.Bits() - b.Prefix.Bits()
		})
		most, widest := 1+dice.IntN(12), 26+dice.IntN(4)
		holds := func(p netip.Prefix) bool { return p.Bits() >= widest }
		rank := func(p netip.Prefix) (uint32, time.Time) { return hits[p], at[p] }
		kept, left := hottest(entries, most, holds, rank)
		want, missing := slowly(entries, most, holds, rank)
		if !slices.Equal(kept, want) || left != missing {
			t.Fatalf("of %v, %d at most, from /%d: %v, %d left out; want %v, %d", entries, most, widest, kept, left, want, missing)
		}
		for _, e := range entries {
			in := slices.ContainsFunc(kept, func(p netip.Prefix) bool { return p.Bits() <= e.Prefix.Bits() && p.Contains(e.Prefix.Addr()) })
			if got := covered(kept, e.Prefix); got != in {
				t.Fatalf("%v is covered by %v: %t", e.Prefix, kept, got)
			}
		}
	}
}

// What cannot be asked is said in words, with its host and no more of the address.
func TestNotThere(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := newClient()
	defer c.Close()
	_, err := c.SendRequest(t.Context(), http.MethodGet, gone.URL+"/accounts/s3cret", http.Header{}, nil)
	if want := strings.TrimPrefix(gone.URL, "http://") + " refuses the connection: nothing listens there"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
