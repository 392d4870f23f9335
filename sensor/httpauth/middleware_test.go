package httpauth

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

func TestGuard(t *testing.T) {
	const named = "203.0.113.9" // by a proxy; the others connect
	sameAddr := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	for _, c := range []struct {
		name, remote, forwarded string
		unix                    bool
		want                    string // "": nobody
		proxied                 bool
	}{
		{"the peer", "203.0.113.1:4711", "", false, "203.0.113.1", false},
		{"a stranger's header", "203.0.113.1:4711", "1.1.1.1", false, "203.0.113.1", false},
		{"behind this host's proxy", "127.0.0.1:4711", "203.0.113.9", false, "203.0.113.9", false},
		{"behind two", "[::1]:4711", "203.0.113.9, 127.0.0.1", false, "203.0.113.9", true},
		{"this host itself", "127.0.0.1:4711", "", false, "127.0.0.1", false},
		{"unix socket", "@", "203.0.113.9", true, "203.0.113.9", false},
		{"unix socket without header", "", "", true, "", false},
		{"no address", "pipe", "203.0.113.9", false, "", false},
		{"an address alone", "203.0.113.1", "1.1.1.1", false, "203.0.113.1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &desk{}
			a, err := inline.New(d.config(), "auth", 1)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest("PUT", "http://site.example/a?b=1", nil)
			r.RequestURI, r.RemoteAddr = "/a?b=1", c.remote
			r.Header.Set("User-Agent", "curl/8")
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if c.unix {
				r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Net: "unix"})))
			}
			reached := false
			w := httptest.NewRecorder()
			middleware{a}.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true })).ServeHTTP(w, r)
			if !reached || len(w.Header()) != 0 {
				t.Errorf("reached %v, header %v", reached, w.Header())
			}
			if c.want == "" {
				if d.asked() != 0 || !slices.Equal(d.heard(), []string{"auth_no_client"}) || a.Passed.Load() != 1 || a.NoClient.Load() != 1 {
					t.Errorf("asked %d, alarms %v, %d passed", d.asked(), d.heard(), a.Passed.Load())
				}
				return
			}
			want := request(edgeguard.Event{Addr: addr(c.want), Proxied: c.proxied, Named: c.want == named, Known: described | edgeguard.FieldReferer | edgeguard.FieldFetchSite,
				Host: "site.example", Method: "PUT", Path: "/a?b=1", Agent: "curl/8"})
			if diff := cmp.Diff(want, d.last(t), sameAddr); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGuardRefuses(t *testing.T) {
	d := &desk{limit: 1}
	wrap, err := Middleware(d.config())
	if err != nil {
		t.Fatal(err)
	}
	h := wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, want := range []int{204, 429} {
		r := httptest.NewRequest("GET", "/", nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Fatalf("status %d, want %d", w.Code, want)
		}
		if want == 429 && (w.Header().Get("Retry-After") != "42" || w.Header().Get("Content-Type") != refusal.ContentType || w.Body.Len() == 0) {
			t.Errorf("header %v, body %s", w.Header(), w.Body)
		}
	}
}
