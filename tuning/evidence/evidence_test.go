package evidence

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/tuning"
)

const (
	chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36"
	google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
)

// visitor writes what one address does into a book.
type visitor struct {
	book  *Book
	addr  netip.Addr
	agent string
	now   time.Time
}

func (v *visitor) asks(method, path string, status uint16) {
	v.now = v.now.Add(time.Second)
	v.book.Add(&edgeguard.Event{Time: v.now, Addr: v.addr, Kind: edgeguard.KindRequest | edgeguard.KindResponse,
		Known: edgeguard.FieldAgent | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
		Agent: v.agent, Method: method, Path: path, Status: status})
}

func (v *visitor) reads(pages int) {
	for n := range pages {
		v.asks("GET", fmt.Sprintf("/page/%d", n), 200)
		for m := range 5 {
			v.asks("GET", fmt.Sprintf("/img/%d-%d.png", n, m), 200)
		}
	}
}

// readers are what a log has beside the address at question.
func readers(b *Book) {
	for i := range 20 {
		v := visitor{book: b, addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), agent: chrome, now: time.Unix(1780000000, 0)}
		v.reads(3)
	}
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name  string
		agent string
		does  func(v *visitor)
		looks tuning.Looks
		why   string // its beginning
	}{
		{"a reader", chrome, func(v *visitor) { v.reads(4) }, tuning.Benign, "loads pages as browsers do: 83 % are assets"},
		{"an office of fifty that logs in, one in ten mistypes", chrome, func(v *visitor) {
			for i := range 50 {
				v.reads(1)
				if i%10 == 0 {
					v.asks("POST", "/login", 200)
				}
				v.asks("POST", "/login", 302)
			}
		}, tuning.Benign, "loads pages"},
		{"the same office at a host for logins alone", chrome, func(v *visitor) {
			for i := range 50 {
				if i%7 == 0 {
					v.asks("POST", "/login", 200)
				}
				v.asks("POST", "/login", 302)
			}
		}, tuning.Benign, "logs in with success"},
		{"a guesser of passwords", chrome, func(v *visitor) {
			for range 30 {
				v.asks("POST", "/wp-login.php", 200)
			}
		}, tuning.Hostile, "logs in 30 times and does nothing else"},
		{"a guesser whom every answer redirects", chrome, func(v *visitor) {
			for range 30 {
				v.asks("GET", "/administrator/index.php", 200)
				v.asks("POST", "/administrator/index.php", 303)
			}
		}, tuning.Hostile, "logs in 30 times"},
		{"a guesser that is refused", "curl/8", func(v *visitor) {
			for range 30 {
				v.asks("POST", "/login", 401)
			}
		}, tuning.Hostile, "logs in 30 times"},
		{"a phone that writes to its blog", "wp-iphone/25", func(v *visitor) {
			for range 40 {
				v.asks("POST", "/xmlrpc.php", 200)
			}
		}, tuning.Benign, "says to be an application"},
		{"a program that calls XML-RPC and says nothing", "XML-RPC.NET", func(v *visitor) {
			for range 400 {
				v.asks("POST", "/xmlrpc.php", 200)
			}
		}, tuning.Unknown, ""},
		{"a browser that calls XML-RPC and loads nothing", chrome, func(v *visitor) {
			for range 40 {
				v.asks("POST", "/xmlrpc.php", 200)
			}
		}, tuning.Hostile, "logs in 40 times"},
		{"a monitor of a page that is not there", "UptimeRobot/2.0", func(v *visitor) {
			for range 400 {
				v.now = v.now.Add(time.Minute)
				v.asks("HEAD", "/status.php", 404)
			}
		}, tuning.Benign, "asks for one page at a slow"},
		{"an editor whose session has ended in a tab", chrome, func(v *visitor) {
			for range 100 {
				v.asks("POST", "/wp-admin/post.php", 200)
				v.asks("POST", "/wp-admin/admin-ajax.php", 403)
				v.asks("POST", "/wp-admin/admin-ajax.php", 403)
			}
		}, tuning.Benign, "is logged in"},
		{"a page that shows pictures without an ending", chrome, func(v *visitor) {
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/old/%d.gif", n), 404)
				if n%2 == 0 {
					v.asks("GET", fmt.Sprintf("/media/%d", n), 404)
				}
			}
		}, tuning.Benign, "loads pictures"},
		{"an application behind many phones", "Acme/1", func(v *visitor) {
			for range 400 {
				v.asks("POST", "/oauth/token", 200)
			}
		}, tuning.Unknown, ""},
		{"a scanner", "Go-http-client/1.1", func(v *visitor) {
			for _, path := range []string{"/.env", "/shell.php", "/backup.zip", "/.git/config", "/wp-config.php.bak", "/a.asp"} {
				v.asks("GET", path, 404)
			}
		}, tuning.Hostile, "asks for 6 different scripts"},
		{"a reader of a forum with a picture of /.env", chrome, func(v *visitor) {
			v.reads(3)
			for range 20 {
				v.asks("GET", "/.env", 404)
			}
		}, tuning.Benign, "loads pages"},
		{"a page elsewhere that shows pictures that are gone", chrome, func(v *visitor) {
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/old/%d.gif", n), 404)
			}
		}, tuning.Benign, "loads pictures"},
		{"a search engine that follows old links", google, func(v *visitor) {
			v.asks("GET", "/robots.txt", 200)
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/gone/%d", n), 404)
			}
		}, tuning.Benign, "says to be the crawler"},
		{"a search engine that scans", google, func(v *visitor) {
			v.asks("GET", "/robots.txt", 200)
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/%d.sql.gz", n), 404)
			}
		}, tuning.Hostile, "asks for 12 or more"},
		{"a search engine of a site that was moved", google, func(v *visitor) {
			v.asks("GET", "/robots.txt", 200)
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/thread%d.php", n), 404)
			}
		}, tuning.Benign, "says to be the crawler"},
		{"a claim alone", google, func(v *visitor) {
			for n := range 60 {
				v.asks("GET", fmt.Sprintf("/page/%d", n), 200)
			}
		}, tuning.Unknown, ""},
		{"the owner", chrome, func(v *visitor) {
			v.asks("POST", "/wp-login.php", 302)
			for range 20 {
				v.asks("GET", "/wp-admin/post.php?post=1", 200)
				v.asks("POST", "/wp-admin/admin-ajax.php", 200)
			}
		}, tuning.Benign, "is logged in"},
		{"who only calls the door that is open", chrome, func(v *visitor) {
			for range 40 {
				v.asks("POST", "/wp-admin/admin-ajax.php", 200)
			}
		}, tuning.Unknown, ""},
		{"a flood", chrome, func(v *visitor) {
			for range 4000 {
				v.asks("GET", "/", 200)
			}
		}, tuning.Unknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := NewBook(0)
			readers(b)
			v := visitor{book: b, addr: netip.MustParseAddr("203.0.113.9"), agent: tt.agent, now: time.Unix(1780000000, 0)}
			tt.does(&v)
			got := b.Judge(edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.9/32")})
			if got.Looks != tt.looks || !strings.HasPrefix(got.Why, tt.why) {
				t.Errorf("looks %d: %s", got.Looks, got.Why)
			}
		})
	}
}

// A crawler is known by its network: its addresses divide the work.
func TestRobotsOfTheNetwork(t *testing.T) {
	b := NewBook(0)
	one := visitor{book: b, addr: netip.MustParseAddr("203.0.113.9"), agent: google, now: time.Unix(1780000000, 0)}
	one.asks("GET", "/robots.txt", 200)
	other := one
	other.addr = netip.MustParseAddr("203.0.113.77")
	other.asks("GET", "/", 200)
	if got := b.Judge(edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.77/32")}); got.Looks != tuning.Benign {
		t.Errorf("%+v", got)
	}
}

// Where crawlers are verified, one that is may ask for what is gone, and nobody else
// gains by saying that he is it.
func TestVerifiedCrawlers(t *testing.T) {
	for crawler, want := range map[string]Judgement{
		edgeguard.VerifiedCrawler + "google": {tuning.Benign, "is a verified crawler"},
		"impostor":                           {tuning.Hostile, "asks for 12 or more different pages that are not there"},
		"unknown":                            {tuning.Benign, "says to be the crawler of a search engine, only reads, and its network asked for robots.txt (not verified)"},
	} {
		b := NewBook(0)
		for i := range 40 {
			path, status := fmt.Sprintf("/gone/%d", i), uint16(404)
			if i == 0 {
				path, status = "/robots.txt", 200
			}
			b.Add(&edgeguard.Event{Time: time.Unix(1780000000+int64(i), 0), Addr: netip.MustParseAddr("203.0.113.9"), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
				Known: edgeguard.FieldAgent | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus | edgeguard.FieldCrawler,
				Agent: google, Crawler: crawler, Method: "GET", Path: path, Status: status})
		}
		if got := b.Judge(edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.9/32")}); got != want {
			t.Errorf("%s: %+v", crawler, got)
		}
	}
}

// What is judged before the last event is judged again.
func TestJudgedAgain(t *testing.T) {
	b := NewBook(0)
	v := visitor{book: b, addr: netip.MustParseAddr("203.0.113.9"), agent: chrome, now: time.Unix(1780000000, 0)}
	key := edgeguard.Key{Prefix: netip.MustParsePrefix("203.0.113.9/32")}
	if got := b.Judge(key); got.Why != "nothing is known of it" {
		t.Errorf("%+v", got)
	}
	v.reads(2)
	if got := b.Judge(key); got.Looks != tuning.Benign {
		t.Errorf("%+v", got)
	}
}

// The book has a bound, and those that do much stay in it.
func TestBound(t *testing.T) {
	b := NewBook(100)
	busy := visitor{book: b, addr: netip.MustParseAddr("203.0.113.9"), agent: chrome, now: time.Unix(1780000000, 0)}
	busy.reads(10)
	for i := range 10_000 {
		v := visitor{book: b, addr: netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), agent: chrome, now: busy.now}
		v.asks("GET", "/", 200)
		if b.Len() > 100 {
			t.Fatalf("%d records", b.Len())
		}
	}
	if r := b.Record(netip.MustParsePrefix("203.0.113.9/32")); r == nil || r.Requests != 60 || b.Dropped() != 10_001-uint64(b.Len()) {
		t.Errorf("%+v, %d dropped, %d known", r, b.Dropped(), b.Len())
	}
}

// Keys wider than an address are looked up thousands of times in a book that is full.
func BenchmarkJudgeWide(b *testing.B) {
	book := NewBook(0)
	for i := range MaxRecords {
		v := visitor{book: book, addr: netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), agent: chrome, now: time.Unix(1780000000, 0)}
		v.asks("GET", "/", 200)
	}
	for b.Loop() {
		for i := range 256 {
			book.Judge(edgeguard.Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)})
		}
		book.read = nil
	}
}

// Texts of a log are cut, and what comes often is found among what comes once.
func TestOften(t *testing.T) {
	b := NewBook(0)
	v := visitor{book: b, addr: netip.MustParseAddr("203.0.113.9"), agent: strings.Repeat("x", 1<<16), now: time.Unix(1780000000, 0)}
	for i := range 1000 {
		v.asks("POST", "//xmlrpc.php?"+strings.Repeat("y", 1000), 200)
		v.asks("GET", fmt.Sprintf("/%d/%s", i, strings.Repeat("z", 1<<12)), 404)
	}
	r := b.Record(netip.MustParsePrefix("203.0.113.9/32"))
	paths, agents := r.Paths(), r.Agents()
	if paths[0] != (Often{"POST /xmlrpc.php", 1000, true}) {
		t.Errorf("%+v", paths[0])
	}
	for _, o := range append(paths, agents...) {
		if len(o.Text) > 96 {
			t.Errorf("%d bytes", len(o.Text))
		}
	}
	if len(agents) != 1 || agents[0].N != 2000 {
		t.Errorf("%+v", agents)
	}
}

// A wider key is the sum of the addresses in it, and IPv6 is known by its /64.
func TestRecordOfANetwork(t *testing.T) {
	b := NewBook(0)
	for _, addr := range []string{"203.0.113.9", "203.0.113.10", "203.0.114.1", "2001:db8::1", "2001:db8::2"} {
		v := visitor{book: b, addr: netip.MustParseAddr(addr), agent: chrome, now: time.Unix(1780000000, 0)}
		v.reads(1)
	}
	for prefix, want := range map[string]uint32{"203.0.113.0/24": 12, "203.0.113.9/32": 6, "2001:db8::/64": 12, "2001:db8::1/128": 12, "2001:db8::/48": 12} {
		if r := b.Record(netip.MustParsePrefix(prefix)); r == nil || r.Requests != want {
			t.Errorf("%s: %+v", prefix, r)
		}
	}
	in, others := b.Neighbours(netip.MustParsePrefix("203.0.113.9/32"))
	if in.String() != "203.0.113.0/24" || len(others) != 1 || others[0].Prefix.String() != "203.0.113.10/32" {
		t.Errorf("%v %v", in, others)
	}
}

func BenchmarkAdd(b *testing.B) {
	book := NewBook(0)
	v := visitor{book: book, addr: netip.MustParseAddr("203.0.113.9"), agent: chrome, now: time.Unix(1780000000, 0)}
	b.ReportAllocs()
	for b.Loop() {
		v.asks("GET", "/wp-content/themes/harbour/style.css?ver=3.2", 200)
	}
}
