package admin

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"edgeguard/admin/call"
)

// Whatever the query, what is read of it is in bounds and reads the same again.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "limit=10", "cursor=203.0.113.0/24&rule=site", "prefix=2001:db8::/32&contains=::1", "limit=-1", "%zz", "rule=a&rule=b", "prefix=::ffff:1.2.3.4/120", "a;b", "order=newest&cursor=2026-03-01T12:00:00.5Z,203.0.113.7/32", "order=newest&cursor=9999-12-31T23:59:59-23:00,::/0", "order=ends&cursor=ends,-1,203.0.113.7/32,3", "order=count&dir=asc&cursor=count-,7,::/0,0", "order=newest&dir=asc", "dir=desc", "family=ipv6&made_by=fleet&proxied=true&since_after=2026-03-01T12:00:00Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r := &http.Request{URL: &url.URL{RawQuery: raw}}
		filter, limit, p := ReadBlockFilter(r)
		if p != nil {
			if p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Fatalf("%+v", p)
			}
			return
		}
		if limit < 1 || limit > call.MaxLimit {
			t.Fatalf("limit %d", limit)
		}
		for _, prefix := range []netip.Prefix{filter.Within, filter.After.Prefix} {
			if prefix.IsValid() && (prefix != prefix.Masked() || prefix.Addr().Is4In6() || prefix.Addr().Zone() != "") {
				t.Fatalf("%v is not in its one form", prefix)
			}
		}
		if a := filter.Contains; a.IsValid() && (a.Is4In6() || a.Zone() != "") {
			t.Fatalf("%v is not in its one form", a)
		}
		again := url.Values{}
		if filter.Within.IsValid() {
			again.Set("prefix", filter.Within.String())
		}
		if !filter.First() {
			again.Set("cursor", filter.Cursor(filter.After))
		}
		again.Set("order", filter.Order)
		again.Set("dir", map[bool]string{true: "desc", false: "asc"}[filter.Descending()])
		second, _, p := ReadBlockFilter(&http.Request{URL: &url.URL{RawQuery: again.Encode()}})
		if p != nil || second.Within != filter.Within || second.Order != filter.Order || second.After.Key != filter.After.Key || second.After.Copy != filter.After.Copy ||
			second.After.Prefix != filter.After.Prefix || !second.After.Since.Equal(filter.After.Since) {
			t.Fatalf("%q became %+v, and that %+v, %v", raw, filter, second, p)
		}
	})
}

// Whatever the body, a request is refused or has sane values.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{"prefix":"203.0.113.7","for":"1h"}`, `{"prefix":"2001:db8::/64","until":"2026-03-01T13:00:00Z","force":true}`, `{}`, `[]`, `{"prefix":1}`, `{"x":1}`, `{"for":"1h","until":"2026-03-01T13:00:00+02:00"}`, `{"reason":"\u0000"}`, "nul\x00"} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		var request BlockRequest
		if p := call.ParseBody(body, &request); p != nil {
			if p.Status/100 != 4 || p.Detail == "" {
				t.Fatalf("%+v", p)
			}
			return
		}
		if until, p := call.Until(now, request.For, request.Until, call.DefaultFor); p == nil && (!until.After(now) || until.After(now.Add(call.MaxFor))) {
			t.Fatalf("%s ends at %v", body, until)
		}
		if prefix, p := call.ParsePrefix("prefix", request.Prefix); p == nil && (!prefix.IsValid() || prefix != prefix.Masked() || prefix.Addr().Is4In6()) {
			t.Fatalf("%s is of %v", body, prefix)
		}
		if len(request.Reason) > call.MaxReason && call.CheckReason(request.Reason) == nil {
			t.Fatal("a long reason was taken")
		}
	})
}
