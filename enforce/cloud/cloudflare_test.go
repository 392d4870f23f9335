package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/enforce/enforcetest"
)

func newCloudflareList(t testing.TB, c *cloudtest.Cloudflare, change ...func(*CloudflareConfig)) *Cloudflare {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(cloudtest.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := CloudflareConfig{
		Account: cloudtest.Account, ID: cloudtest.List, TokenFile: file, Endpoint: c.URL, Most: 10_000, Every: time.Minute, Mark: "edgeguard",
		Rank: func(netip.Prefix) (uint32, time.Time) { return 0, time.Time{} },
	}
	for _, f := range change {
		f(&config)
	}
	l := NewCloudflare(config)
	l.look = time.Millisecond
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestCloudflareConforms(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	enforcetest.Run(t, enforcetest.Bench{
		New:    func(t *testing.T) enforce.Enforcer { return newCloudflareList(t, c) },
		Denied: func(t *testing.T, addr netip.Addr) bool { return c.Denied(t, addr) },
		Narrow: true,
	})
}

// Only differences are sent: what stays is not touched, and what goes is deleted before
// anything is added.
func TestDifferences(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	c.Looks = 3
	l := newCloudflareList(t, c)
	replace := func(want string, prefixes ...string) {
		t.Helper()
		if err := l.Replace(t.Context(), time.Now(), entries(prefixes...)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Calls(), ", "); got != want {
			t.Errorf("calls: %s, want %s", got, want)
		}
	}
	const read, looks = "GET list, GET list/items", ", GET bulk_operations, GET bulk_operations, GET bulk_operations"
	replace(read)
	replace(read+", POST list/items"+looks, "192.0.2.0/24", "192.0.2.9/32", "198.51.100.7/32", "2001:db8::/64", "2001:db8:1::1/128")
	if got := slices.Sorted(maps.Keys(c.Items())); !slices.Equal(got, []string{"192.0.2.0/24", "198.51.100.7", "2001:db8:1::1", "2001:db8::/64"}) {
		t.Errorf("%v", got)
	}
	replace(read, "192.0.2.0/24", "192.0.2.9/32", "198.51.100.7/32", "2001:db8::/64", "2001:db8:1::1/128")
	replace(read+", DELETE list/items"+looks+", POST list/items"+looks, "192.0.2.0/24", "198.51.100.8/32")
	if got := c.Items(); len(got) != 2 || got["198.51.100.8"] != "edgeguard" {
		t.Errorf("%v", got)
	}
	replace(read + ", DELETE list/items" + looks)
}

// A list of others' items is left alone. Items that others add to ours stay, and stay
// theirs, also where edgeguard blocks the same.
func TestCloudflareForeign(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	c.Put("203.0.113.1", "partner")
	c.Put("203.0.113.2", "")
	l := newCloudflareList(t, c)
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err == nil || !strings.Contains(err.Error(), "somebody else's") {
		t.Error(err)
	}
	if _, err := l.Look(t.Context()); err == nil {
		t.Error("it looks like ours")
	}
	if calls := c.Calls(); slices.ContainsFunc(calls, func(call string) bool { return !strings.HasPrefix(call, "GET ") }) {
		t.Errorf("%v", calls)
	}
	c.Description = "edgeguard and the partners"
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32", "192.0.2.2/32", "203.0.113.1/32")); err != nil {
		t.Fatal(err)
	}
	c.Put("192.0.2.2", "mine now")
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.2/32")); err != nil {
		t.Fatal(err)
	}
	if err := l.Replace(t.Context(), time.Now(), nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Items(); len(got) != 3 || got["203.0.113.1"] != "partner" || got["203.0.113.2"] != "" || got["192.0.2.2"] != "mine now" {
		t.Errorf("%v", got)
	}
}

// Items that came twice, or in another writing, are of one prefix.
func TestOddItems(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	for _, ip := range []string{"192.0.2.1", "192.0.2.1/32", "2001:DB8::1", "2001:db8:0:0::/64", "192.0.2.255/24"} {
		c.Put(ip, "edgeguard")
	}
	if err := newCloudflareList(t, c).Replace(t.Context(), time.Now(), entries("192.0.2.0/24", "2001:db8::/64")); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(c.Items())); !slices.Equal(got, []string{"192.0.2.255/24", "2001:db8:0:0::/64"}) {
		t.Errorf("%v", got)
	}
}

// Prefixes that Cloudflare has no room for are left out and counted.
func TestLeft(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	l := newCloudflareList(t, c, func(c *CloudflareConfig) { c.Most = 2 })
	if err := l.Replace(t.Context(), time.Now(), entries("10.0.0.0/7", "10.0.0.1/32", "192.0.2.1/32", "192.0.2.2/32", "2000::/11")); err != nil {
		t.Fatal(err)
	}
	if got := c.Items(); len(got) != 2 || l.Left() != 3 {
		t.Errorf("%v, %d left out", got, l.Left())
	}
	if !l.Refuses()(netip.MustParsePrefix("10.0.0.1/32")) || l.Refuses()(netip.MustParsePrefix("10.0.0.0/7")) {
		t.Error("what is refused differs from what is in the list")
	}
}

// A list of more than a page, and more than a request takes, arrives whole.
func TestLong(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	l := newCloudflareList(t, c, func(c *CloudflareConfig) { c.Most = 12_000 })
	var all []enforce.Entry
	for i := range 12_000 {
		all = append(all, enforce.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)})
	}
	for range 2 {
		if err := l.Replace(t.Context(), time.Now(), all); err != nil {
			t.Fatal(err)
		}
	}
	calls := c.Calls()
	if n := len(slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return call != "POST list/items" })); n != 2 || len(c.Items()) != len(all) {
		t.Errorf("%d requests added, %d items", n, len(c.Items()))
	}
	if err := l.Replace(t.Context(), time.Now(), nil); err != nil || len(c.Items()) != 0 {
		t.Errorf("%v, %d items", err, len(c.Items()))
	}
}

// Each fault is one clear line, and what was installed stays or is put right the next
// time.
func TestCloudflareFaults(t *testing.T) {
	said := func(code int, text string) string {
		return fmt.Sprintf(`{"success":false,"errors":[{"code":%d,"message":%q}],"messages":[],"result":null}`, code, text)
	}
	for _, one := range []struct {
		name, operation, want string
		faults                []cloudtest.Fault
	}{
		{"busy once", "POST list/items", "", []cloudtest.Fault{{Status: 429, Body: said(10040, "in progress")}}},
		{"busy for good", "POST list/items", "another change of the account", slices.Repeat([]cloudtest.Fault{{Status: 429, Body: said(10040, "in progress")}}, 4)},
		{"begun, and said to have failed", "POST list/items", "", []cloudtest.Fault{{Status: 503, Body: "<html>", Done: true}}},
		{"a failing look", "GET bulk_operations", "", []cloudtest.Fault{{Status: 500, Body: "<html>oops"}}},
		{"a page of an error", "GET list", "status 503: <html>maintenance", []cloudtest.Fault{{Status: 503, Body: "<html>maintenance"}}},
		{"a login page", "GET list/items", "not JSON", []cloudtest.Fault{{Status: 200, Body: "<html>Welcome"}}},
		{"JSON of another", "GET list", "status 200", []cloudtest.Fault{{Status: 200, Body: "{}"}}},
		{"a list in place of a mapping", "GET list", "not Cloudflare's", []cloudtest.Fault{{Status: 200, Body: `{"success":true,"result":[]}`}}},
		{"no operation", "POST list/items", "names no operation", []cloudtest.Fault{{Status: 200, Body: `{"success":true,"result":{}}`}}},
		{"half an answer", "GET list/items", "half an answer", []cloudtest.Fault{{Status: 200, Body: `{"result":[`, Half: true}}},
		{"a redirect", "GET list", "status 302", []cloudtest.Fault{{Status: 302, Header: http.Header{"Location": {"https://elsewhere.example/"}}}}},
		{"no right", "POST list/items", "Account Filter Lists: Edit", []cloudtest.Fault{{Status: 403, Body: said(10000, "Authentication error")}}},
		{"a bad item", "POST list/items", "invalid ip (10024)", []cloudtest.Fault{{Status: 400, Body: said(10024, "invalid ip")}}},
	} {
		t.Run(one.name, func(t *testing.T) {
			c := cloudtest.NewCloudflare(t)
			c.Put("192.0.2.9", "edgeguard")
			l := newCloudflareList(t, c)
			c.Fail(one.operation, one.faults...)
			err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32", "192.0.2.9/32"))
			if (err == nil) != (one.want == "") || err != nil && (!strings.Contains(err.Error(), one.want) || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), cloudtest.Token)) {
				t.Errorf("%v", err)
			}
			if _, stays := c.Items()["192.0.2.9"]; !stays {
				t.Errorf("installed: %v", c.Items())
			}
			if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32", "192.0.2.9/32")); err != nil || len(c.Items()) != 2 {
				t.Errorf("the next time: %v, %v", err, c.Items())
			}
		})
	}
}

func TestCloudflareRefused(t *testing.T) {
	c := cloudtest.NewCloudflare(t)
	file := filepath.Join(t.TempDir(), "token")
	l := newCloudflareList(t, c, func(c *CloudflareConfig) { c.TokenFile = file })
	try := func(want string) {
		t.Helper()
		if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try("no such file")
	write("\n")
	try("is empty")
	write("one two")
	try("is not one secret")
	write("another-token")
	try("Account Filter Lists: Edit")
	write(cloudtest.Token)
	c.FailNext("list limit exceeded\x1b[2J")
	try("could not be changed by Cloudflare: list limit exceeded?[2J: compare most")
	c.Busy(2)
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err != nil {
		t.Errorf("another's change: %v", err)
	}
	c.Kind = "redirect"
	try("a list of the kind redirect")
	c.Gone()
	try("the list may have been deleted")
	c.Fail("GET list", cloudtest.Fault{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Replace(ctx, time.Now(), nil); err == nil {
		t.Error("no error of a server that hangs")
	}
}

// BenchmarkCloudflarePush is a push of 10,000 new prefixes in place of 10,000 others.
func BenchmarkCloudflarePush(b *testing.B) {
	c := cloudtest.NewCloudflare(b)
	l := newCloudflareList(b, c)
	all := make([][]enforce.Entry, 2)
	for i := range 20_000 {
		all[i%2] = append(all[i%2], enforce.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)})
	}
	if err := l.Replace(b.Context(), time.Now(), all[1]); err != nil {
		b.Fatal(err)
	}
	c.Calls()
	pushes, calls := 0, 0
	for b.Loop() {
		if err := l.Replace(b.Context(), time.Now(), all[pushes%2]); err != nil {
			b.Fatal(err)
		}
		pushes++
		calls += len(c.Calls())
	}
	b.ReportMetric(float64(calls)/float64(pushes), "requests/op")
}

// FuzzCloudflareAnswers has an API answer anything: what it says is bounded and harmless, and no
// item of another is ever deleted.
func FuzzCloudflareAnswers(f *testing.F) {
	f.Add(`{"success":true,"result":[{"id":"1","ip":"192.0.2.1","comment":"edgeguard"},{"id":"2","ip":"192.0.2.1","comment":"x"}]}`, 200)
	f.Add(`{"success":false,"errors":[{"code":1,"message":"\u001b[31m"}]}`, 403)
	f.Add(`<html>`, 502)
	l := NewCloudflare(CloudflareConfig{Mark: "edgeguard"})
	f.Fuzz(func(t *testing.T, text string, status int) {
		var said envelope
		if json.Unmarshal([]byte(text), &said) != nil {
			return
		}
		if err := l.api.failure(status, &said); len(err.Error()) > 1500 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q", err)
		}
		var items []item
		if json.Unmarshal(said.Result, &items) != nil {
			return
		}
		ours := make(map[string]bool)
		for _, i := range items {
			ours[i.ID] = ours[i.ID] || i.Comment == "edgeguard"
		}
		want := []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}
		remove, add := l.sort(items).differences(want)
		for _, id := range remove {
			if !ours[id] {
				t.Errorf("%q is deleted, and another's", id)
			}
		}
		if len(add) > 1 {
			t.Errorf("%v is added", add)
		}
	})
}
