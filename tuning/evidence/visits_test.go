package evidence

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/packaging"
	"edgeguard/rules"
)

var visitsBegin = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

// read is a page of the site that was served to a reader of it.
func read(addr, path string) edgeguard.Event {
	return edgeguard.Event{
		Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest | edgeguard.KindResponse, Verified: edgeguard.KindRequest | edgeguard.KindResponse,
		Known:  edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldReferer,
		Method: "GET", Path: path, Status: 200, Referer: "https://shop.example/",
	}
}

// Three different pages that were served to who came from a page of this site make one who may be a customer,
// and nothing else does.
func TestVisits(t *testing.T) {
	own, _ := rules.ParseHosts([]string{"shop.example"})
	for name, test := range map[string]struct {
		paths  string
		change func(*edgeguard.Event)
		own    *rules.Hosts
		want   bool
	}{
		"three pages":               {"/a /b /c", nil, own, true},
		"scripts and not modified":  {"/a.php /b /c.html", func(e *edgeguard.Event) { e.Status = 304 }, own, true},
		"two, one of them often":    {"/a /b /a /a?x=1 /b", nil, own, false},
		"what a page loads":         {"/a /b /c.css /d.js /e.png /favicon.ico /robots.txt /.env", nil, own, false},
		"where passwords are sent":  {"/a /b /wp-login.php /account/signin /xmlrpc.php", nil, own, false},
		"sent on":                   {"/a /b /c", func(e *edgeguard.Event) { e.Status = 302 }, own, false},
		"not there":                 {"/a /b /c", func(e *edgeguard.Event) { e.Status = 404 }, own, false},
		"no status":                 {"/a /b /c", func(e *edgeguard.Event) { e.Known &^= edgeguard.FieldStatus }, own, false},
		"posted":                    {"/a /b /c", func(e *edgeguard.Event) { e.Method = "POST" }, own, false},
		"no Referer":                {"/a /b /c", func(e *edgeguard.Event) { e.Referer = "" }, own, false},
		"from elsewhere":            {"/a /b /c", func(e *edgeguard.Event) { e.Referer = "https://shop.example.evil.example/" }, own, false},
		"own hosts are not known":   {"/a /b /c", nil, nil, false},
		"of the host that is asked": {"/a /b /c", func(e *edgeguard.Event) { e.Host, e.Known = "Shop.Example:443", e.Known|edgeguard.FieldHost }, nil, true},
		"not verified":              {"/a /b /c", func(e *edgeguard.Event) { e.Verified = 0 }, own, false},
	} {
		v := NewVisits()
		for _, path := range strings.Fields(test.paths) {
			e := read("203.0.113.7", path)
			if test.change != nil {
				test.change(&e)
			}
			v.Note(visitsBegin, &e, test.own)
		}
		if got := v.MayBeCustomer(visitsBegin, netip.MustParsePrefix("203.0.113.7/32")); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An IPv6 client is its /64, a network is no client, and after a day an address may be another's.
func TestVisitsOfWhomAndUntilWhen(t *testing.T) {
	own, _ := rules.ParseHosts([]string{"shop.example"})
	v := NewVisits()
	for i, addr := range []string{"2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2::3", "203.0.113.7", "203.0.113.7", "203.0.113.7"} {
		e := read(addr, fmt.Sprintf("/%d", i))
		v.Note(visitsBegin, &e, own)
	}
	for prefix, want := range map[string]bool{
		"2001:db8:1:2::/64": true, "2001:db8:1:3::/64": false, "2001:db8:1::/48": false, "203.0.113.7/32": true, "203.0.113.0/24": false, "0.0.0.0/32": false, "::/64": false,
	} {
		if got := v.MayBeCustomer(visitsBegin.Add(visitFor-time.Second), netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s: %v", prefix, got)
		}
		if v.MayBeCustomer(visitsBegin.Add(visitFor), netip.MustParsePrefix(prefix)) {
			t.Errorf("%s: also on the next day", prefix)
		}
	}
	late := read("203.0.113.7", "/late")
	v.Note(visitsBegin.Add(visitFor), &late, own)
	if v.MayBeCustomer(visitsBegin.Add(visitFor), netip.MustParsePrefix("203.0.113.7/32")) {
		t.Error("pages of two days are added up")
	}
	if v.MayBeCustomer(visitsBegin.Add(-time.Hour), netip.MustParsePrefix("192.0.2.1/32")) {
		t.Error("a clock that was set back names somebody")
	}
}

// However many are served, it takes no more memory; who was served last is still known.
func TestVisitsAreBounded(t *testing.T) {
	own, _ := rules.ParseHosts([]string{"shop.example"})
	v, size := NewVisits(), visitBuckets*visitWays
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := range size {
				e := read("203.0.113.7", "/a")
				e.Addr = netip.AddrFrom4([4]byte{11, byte(part<<6 | i>>16), byte(i >> 8), byte(i)})
				v.Note(visitsBegin.Add(time.Duration(i)*time.Millisecond), &e, own)
			}
		})
	}
	all.Wait()
	for _, path := range []string{"/a", "/b", "/c"} {
		e := read("203.0.113.7", path)
		v.Note(visitsBegin.Add(time.Hour), &e, own)
	}
	if !v.MayBeCustomer(visitsBegin.Add(time.Hour), netip.MustParsePrefix("203.0.113.7/32")) || len(v.buckets) != visitBuckets {
		t.Error("who came last is not known")
	}
}

// The rules that count logins are told by what they look at, not by their names.
func TestCountsLogins(t *testing.T) {
	c, err := config.Parse("config", []byte(packaging.Config+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Rules.Rules {
		r := &c.Rules.Rules[i]
		room, _, _ := strings.Cut(r.Name, "/")
		got := CountsLogins(&c.Rules.Meters[r.Meter])
		switch {
		case r.Action != edgeguard.ActionBlock || r.Name == "wordpress/authors" || r.Name == "wordpress/files":
			if got && room == "web" || r.Name == "wordpress/files" && got {
				t.Errorf("%s counts logins", r.Name)
			}
		case got != (room != "web"):
			t.Errorf("%s counts logins: %v", r.Name, got)
		}
	}
	set, problems := rules.Compile([]rules.Spec{{Name: "sshd", Threshold: 5, Match: rules.Match{Kind: []string{"auth_failure"}}}, {Name: "all", Threshold: 5}})
	if problems != nil || !CountsLogins(&set.Meters[0]) || CountsLogins(&set.Meters[1]) {
		t.Errorf("failed logins of services: %v %v", CountsLogins(&set.Meters[0]), problems)
	}
}

// BenchmarkNote is a page that counts, one of the pictures beside it, and what says nothing.
func BenchmarkNote(b *testing.B) {
	own, _ := rules.ParseHosts([]string{"shop.example"})
	for name, e := range map[string]edgeguard.Event{"page": read("203.0.113.7", "/articles/of/a/day"), "picture": read("203.0.113.7", "/pictures/of/a/day.png"), "other": {Method: "GET"}} {
		b.Run(name, func(b *testing.B) {
			v := NewVisits()
			for b.Loop() {
				v.Note(visitsBegin, &e, own)
			}
		})
	}
}
