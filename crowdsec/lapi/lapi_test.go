package lapi_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard/crowdsec/lapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var begin = time.Unix(1_800_000_000, 0)

// api is a server with one key.
type api struct {
	*lapi.Server
	journal *lapi.Journal
	keys    *lapi.Keys
	now     time.Time
	key     string
	addr    string // from which requests come
	agent   string
}

func newAPI(t testing.TB) *api {
	t.Helper()
	k, err := lapi.OpenKeys(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &api{journal: lapi.NewJournal(), keys: k, now: begin, addr: "192.0.2.1:4000"}
	a.key = a.add(t, "edge1", lapi.Auto)
	a.Server = lapi.New(lapi.Config{Keys: k, Journal: a.journal, Now: func() time.Time { return a.now }})
	return a
}

func (a *api) add(t testing.TB, name, kernel string) string {
	t.Helper()
	secret, err := a.keys.Add(name, kernel, begin)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// block puts a block in force until so long after the beginning.
func (a *api) block(prefix string, lasts time.Duration, change ...func(*lapi.Decision)) {
	d := lapi.Decision{Prefix: netip.MustParsePrefix(prefix), Rule: "site", Until: begin.Add(lasts)}
	for _, f := range change {
		f(&d)
	}
	a.journal.SetDecision(a.now, d, true)
}

func (a *api) lift(prefix string) {
	a.journal.SetDecision(a.now, lapi.Decision{Prefix: netip.MustParsePrefix(prefix)}, false)
}

func proxied(d *lapi.Decision) { d.Proxied = true }

// ask sends one request.
func (a *api) ask(method, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.RemoteAddr = a.addr
	r.Header.Set("X-Api-Key", a.key)
	r.Header.Set("User-Agent", a.agent)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// one is a decision as bouncers read it.
type one struct {
	ID                                             int64
	Origin, Type, Scope, Value, Duration, Scenario string
}

// stream returns what a bouncer is told: + new, - deleted, each with its value.
func (a *api) stream(t testing.TB, query string, change ...func(*http.Request)) string {
	t.Helper()
	w := a.ask("GET", "/v1/decisions/stream?"+query, change...)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return told(t, w.Body.Bytes())
}

func told(t testing.TB, body []byte) string {
	t.Helper()
	var got struct{ New, Deleted []one }
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var all []string
	for _, d := range got.Deleted {
		if left, err := time.ParseDuration(d.Duration); err != nil || left >= 0 || d.Origin != "edgeguard" || d.Type != "ban" {
			t.Errorf("deleted: %+v, %v", d, err)
		}
		all = append(all, "-"+d.Value)
	}
	for _, d := range got.New {
		if left, err := time.ParseDuration(d.Duration); err != nil || left < time.Second || left != left.Truncate(time.Second) {
			t.Errorf("new: %+v, %v", d, err)
		}
		all = append(all, "+"+d.Value)
	}
	return strings.Join(all, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestShape holds the bytes: what CrowdSec's API sends.
func TestShape(t *testing.T) {
	a := newAPI(t)
	a.block("203.0.113.5/32", 10*time.Minute-500*time.Millisecond)
	a.block("2001:db8:1::/64", time.Hour, func(d *lapi.Decision) { d.Rule = `odd "rule"` })
	w := a.ask("GET", "/v1/decisions/stream?startup=true")
	want(t, "stream", w.Body.String(), `{"new":[{"id":1,"origin":"edgeguard","type":"ban","scope":"Ip","value":"203.0.113.5","duration":"10m0s","scenario":"edgeguard/site"},`+
		`{"id":2,"origin":"edgeguard","type":"ban","scope":"Range","value":"2001:db8:1::/64","duration":"1h0m0s","scenario":"edgeguard/odd \"rule\""}],"deleted":[]}`)
	want(t, "content type", w.Header().Get("Content-Type"), "application/json")
	a.lift("203.0.113.5/32")
	want(t, "lifted", a.ask("GET", "/v1/decisions/stream").Body.String(),
		`{"new":[],"deleted":[{"id":1,"origin":"edgeguard","type":"ban","scope":"Ip","value":"203.0.113.5","duration":"-1s","scenario":"edgeguard/site"}]}`)
	want(t, "an address in a prefix", a.ask("GET", "/v1/decisions?ip=2001:db8:1::7").Body.String(),
		`[{"id":2,"origin":"edgeguard","type":"ban","scope":"Range","value":"2001:db8:1::/64","duration":"1h0m0s","scenario":"edgeguard/odd \"rule\""}]`)
	want(t, "an address that is not blocked", a.ask("GET", "/v1/decisions?ip=203.0.113.5").Body.String(), "null")
}

// TestChanges: a bouncer is told what changed since its last answer, each address by
// itself, and one that is not known everything.
func TestChanges(t *testing.T) {
	a := newAPI(t)
	a.block("192.0.2.1/32", time.Hour)
	want(t, "start", a.stream(t, "startup=true"), "+192.0.2.1")
	want(t, "nothing", a.stream(t, ""), "")
	a.block("192.0.2.2/32", time.Hour)
	want(t, "one", a.stream(t, ""), "+192.0.2.2")
	a.block("192.0.2.1/32", 2*time.Hour)
	want(t, "another end", a.stream(t, "startup=false"), "-192.0.2.1 +192.0.2.1")
	a.lift("192.0.2.2/32")
	a.ask("HEAD", "/v1/decisions/stream")
	want(t, "after HEAD", a.stream(t, ""), "-192.0.2.2")
	a.addr = "192.0.2.99:4000"
	want(t, "another address with the key", a.stream(t, ""), "-192.0.2.1 -192.0.2.2 +192.0.2.1")
	a.now = begin.Add(3 * time.Hour)
	want(t, "the end", a.stream(t, ""), "-192.0.2.1")
	a.now = begin.Add(20 * time.Hour)
	a.addr = "192.0.2.1:4001"
	a.block("192.0.2.3/32", 48*time.Hour)
	want(t, "too far behind", a.stream(t, ""), "+192.0.2.3")
	want(t, "and then", a.stream(t, ""), "")
}

// TestKernel: a bouncer that filters packets, by its key or its name, gets no block that
// was learned behind a proxy, and one that it has is taken away.
func TestKernel(t *testing.T) {
	a := newAPI(t)
	auto, yes, no := a.key, a.add(t, "yes", lapi.Yes), a.add(t, "no", lapi.No)
	a.block("192.0.2.1/32", time.Hour, proxied)
	a.block("192.0.2.2/32", time.Hour)
	for _, c := range []struct{ key, agent, want string }{
		{auto, "crowdsec-firewall-bouncer/v0.0.25-debian-pragmatic", "+192.0.2.2"},
		{auto, "crowdsec-nginx-bouncer/v1.0.8", "+192.0.2.1 +192.0.2.2"},
		{auto, "", "+192.0.2.1 +192.0.2.2"},
		{yes, "crowdsec-custom-bouncer/v0.0.15", "+192.0.2.2"},
		{no, "crowdsec-firewall-bouncer/v0.0.25", "+192.0.2.1 +192.0.2.2"},
	} {
		a.key, a.agent = c.key, c.agent
		want(t, c.agent, a.stream(t, "startup=true"), c.want)
	}
	a.key, a.agent = yes, "crowdsec-custom-bouncer/v0.0.15"
	want(t, "a question", a.ask("GET", "/v1/decisions?ip=192.0.2.1").Body.String(), "null")
	a.block("192.0.2.2/32", time.Hour, proxied)
	want(t, "learned behind a proxy later", a.stream(t, ""), "-192.0.2.2")
	a.lift("192.0.2.1/32")
	want(t, "one it never had", a.stream(t, ""), "")
}

// TestNewAlone: bouncers that an address in both lists would free get it in one of the two
// alone.
func TestNewAlone(t *testing.T) {
	for _, agent := range []string{"Crowdsec-Bouncer-Traefik-Plugin/1.X.X", "crowdsec-custom-bouncer/v0.0.15-debian-pragmatic"} {
		a := newAPI(t)
		a.agent = agent
		a.block("192.0.2.1/32", time.Hour)
		want(t, "start", a.stream(t, "startup=true"), "+192.0.2.1")
		a.block("192.0.2.1/32", 2*time.Hour)
		want(t, "another end", a.stream(t, "startup=false"), "+192.0.2.1")
		a.lift("192.0.2.1/32")
		want(t, "lifted", a.stream(t, ""), "-192.0.2.1")
	}
}

func TestFilters(t *testing.T) {
	a := newAPI(t)
	a.block("192.0.2.1/32", time.Hour)
	a.block("198.51.100.0/24", time.Hour, func(d *lapi.Decision) { d.Rule = "Login" })
	a.block("2001:db8::/64", time.Hour)
	for query, expected := range map[string]string{
		"scopes=ip": "+192.0.2.1", "scopes=Range,country": "+198.51.100.0/24 +2001:db8::/64", "scopes=country": "",
		"origins=cscli,edgeguard": "+192.0.2.1 +198.51.100.0/24 +2001:db8::/64", "origins=CAPI": "",
		"scenarios_containing=login,x": "+198.51.100.0/24", "scenarios_not_containing=LOGIN": "+192.0.2.1 +2001:db8::/64",
		"community_pull=false&additional_pull=false": "+192.0.2.1 +198.51.100.0/24 +2001:db8::/64",
	} {
		want(t, query, a.stream(t, "startup=true&"+query), expected)
	}
	for query, expected := range map[string]string{
		"ip=192.0.2.1": "192.0.2.1", "ip=::ffff:192.0.2.1": "192.0.2.1", "ip=198.51.100.7&scope=ip": "", "range=198.51.100.0/25": "198.51.100.0/24",
		"range=198.51.0.0/16": "", "range=198.51.0.0/16&contains=false": "198.51.100.0/24", "scope=ip&value=192.0.2.1": "192.0.2.1", "value=192.0.2.2": "",
		"scope=range&value=2001:db8::/64": "2001:db8::/64", "value=FR&scope=country": "", "type=captcha": "", "type=ban&scope=ip": "192.0.2.1",
		"ip=192.0.2.1&origins=CAPI": "", "": "192.0.2.1 198.51.100.0/24 2001:db8::/64",
	} {
		w := a.ask("GET", "/v1/decisions?"+query)
		var all []one
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || w.Code != 200 || (expected == "") != (w.Body.String() == "null") {
			t.Errorf("%s: %d %s, %v", query, w.Code, w.Body, err)
		}
		var values []string
		for _, d := range all {
			values = append(values, d.Value)
		}
		want(t, query, strings.Join(values, " "), expected)
	}
	for _, query := range []string{"ip=x", "range=192.0.2.0/33", "ip=192.0.2.1&range=192.0.2.0/24", "ip=fe80::1%25eth0"} {
		if w := a.ask("GET", "/v1/decisions?"+query); w.Code != 400 || !strings.HasPrefix(w.Body.String(), `{"message":"`) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// TestRefused: who has no key learns nothing, and who has one nothing but decisions.
func TestRefused(t *testing.T) {
	a := newAPI(t)
	a.block("192.0.2.1/32", time.Hour)
	for _, shown := range []string{"", "x", a.key + "0", strings.Repeat("x", 10_000)} {
		for _, path := range []string{"/v1/decisions/stream", "/v1/decisions?ip=192.0.2.1", "/v1/usage-metrics", "/v1/alerts"} {
			w := a.ask("GET", path, func(r *http.Request) { r.Header.Set("X-Api-Key", shown) })
			if w.Code != 403 || w.Body.String() != `{"message":"access forbidden"}` || w.Header().Get("Connection") != "close" {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	if a.Refused() != 16 {
		t.Errorf("%d refused", a.Refused())
	}
	for request, code := range map[string]int{
		"GET /v1/alerts": 404, "DELETE /v1/decisions": 405, "DELETE /v1/decisions/1": 404, "POST /v1/watchers/login": 404, "GET /": 404, "GET /v1/usage-metrics": 405,
		"POST /v1/usage-metrics": 201, "HEAD /v1/decisions": 200, "GET /v1/decisions?" + strings.Repeat("x", 5000): 414,
		"GET /v1/decisions/stream?origins=" + strings.Repeat("a,", 100): 400, "GET /health": 200,
	} {
		method, target, _ := strings.Cut(request, " ")
		if w := a.ask(method, target); w.Code != code {
			t.Errorf("%.60s: %d %s", request, w.Code, w.Body)
		}
	}
	if w := a.ask("POST", "/v1/usage-metrics", func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", 2<<20))) }); w.Code != 413 {
		t.Errorf("figures of 2 MiB: %d", w.Code)
	}
	if w := a.ask("GET", "/health", func(r *http.Request) { r.Header.Del("X-Api-Key") }); w.Code != 200 || w.Body.String() != `{"status":"up"}` {
		t.Errorf("health: %d %s", w.Code, w.Body)
	}
	if err := a.keys.Remove("edge1"); err != nil {
		t.Fatal(err)
	}
	if w := a.ask("GET", "/v1/decisions/stream"); w.Code != 403 {
		t.Errorf("with a removed key: %d", w.Code)
	}
}

// TestMany: many decisions are sent packed and whole.
func TestMany(t *testing.T) {
	a := newAPI(t)
	const n = 5000
	for i := range n {
		a.block(fmt.Sprintf("10.0.%d.%d/32", i>>8, i&255), time.Hour)
	}
	w := a.ask("GET", "/v1/decisions/stream?startup=true", func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("not packed")
	}
	unpacked, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil || strings.Count(told(t, text), "+") != n {
		t.Fatalf("%d, %v", strings.Count(told(t, text), "+"), err)
	}
	if got := a.stream(t, "startup=true"); strings.Count(got, "+") != n {
		t.Errorf("plain: %d", strings.Count(got, "+"))
	}
	if w := a.ask("GET", "/v1/decisions/stream", func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }); w.Header().Get("Content-Encoding") != "" {
		t.Error("a short answer is packed")
	}
}

// TestHalfAnswer: an answer that is cut off does not move the mark.
func TestHalfAnswer(t *testing.T) {
	a := newAPI(t)
	a.stream(t, "startup=true")
	a.block("192.0.2.1/32", time.Hour)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a.ask("GET", "/v1/decisions/stream", func(r *http.Request) { *r = *r.WithContext(gone) })
	want(t, "after a client that went away", a.stream(t, ""), "+192.0.2.1")
	for i := range 60_000 { // more than the buffers of a connection hold
		a.block(fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255), time.Hour)
	}
	server := httptest.NewServer(a)
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "GET /v1/decisions/stream HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n\r\n", a.key)
	_, _ = io.ReadFull(c, make([]byte, 1000))
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	server.Close() // waits for the answer
	a.addr = "127.0.0.1:1"
	if got := a.stream(t, ""); strings.Count(got, "+") != 60_001 {
		t.Errorf("after a cut connection: %d told", strings.Count(got, "+"))
	}
}

// TestThief: one key from ten thousand addresses takes bounded memory and work, and the
// bouncers that are there stay known.
func TestThief(t *testing.T) {
	a := newAPI(t)
	for i := range 100 {
		a.block(fmt.Sprintf("10.0.0.%d/32", i), 100*time.Hour)
	}
	a.stream(t, "startup=true")
	a.stream(t, "")
	limited := 0
	mine := a.addr
	for i := range 10_000 {
		a.addr = fmt.Sprintf("10.9.%d.%d:1", i>>8, i&255)
		if a.ask("GET", "/v1/decisions/stream?startup=true").Code == 429 {
			limited++
		}
	}
	u, _ := a.Usage("edge1")
	if u.Marks > 64 || limited < 5000 || u.Limited != uint64(limited) {
		t.Errorf("%d marks, %d of 10,000 were too much (%d)", u.Marks, limited, u.Limited)
	}
	a.now = a.now.Add(time.Minute)
	a.addr = mine
	a.block("192.0.2.1/32", time.Hour)
	want(t, "the bouncer", a.stream(t, ""), "+192.0.2.1")
}

// TestThiefAsksForNothing: a filter that nothing passes has the server look at every
// decision for an answer of 24 bytes. That is paid for, too.
func TestThiefAsksForNothing(t *testing.T) {
	a := newAPI(t)
	const many = 100_000
	for i := range many {
		a.block(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}).String()+"/32", time.Hour)
	}
	for i := range 400 {
		if w := a.ask("GET", "/v1/decisions/stream?startup=true&origins=nobody"); w.Code == http.StatusTooManyRequests {
			if u, _ := a.Usage("edge1"); u.Served > 0 {
				t.Errorf("%d decisions were sent", u.Served)
			}
			return
		} else if w.Code != 200 || w.Body.Len() > 100 {
			t.Fatalf("%d: %d, %d bytes", i, w.Code, w.Body.Len())
		}
	}
	t.Errorf("400 looks at %d decisions each cost next to nothing", many)
}

// TestUsage: what the operator is shown.
func TestUsage(t *testing.T) {
	a := newAPI(t)
	if _, ok := a.Usage("edge1"); ok {
		t.Error("a bouncer that did not ask has figures")
	}
	a.agent = "crowdsec-firewall-bouncer/v1\x1b[31m" + strings.Repeat("x", 1000)
	a.stream(t, "startup=true")
	a.now = a.now.Add(10 * time.Second)
	a.block("192.0.2.1/32", time.Hour)
	a.stream(t, "")
	a.block("192.0.2.2/32", time.Hour)
	a.block("192.0.2.3/32", time.Hour)
	a.ask("POST", "/v1/usage-metrics")
	u, ok := a.Usage("edge1")
	if !ok || u.Pulls != 2 || u.Whole != 1 || u.Served != 1 || u.Reports != 1 || u.Behind != 2 || u.Every != 10*time.Second || !u.Kernel || !u.Last.Equal(a.now) || u.Marks != 1 {
		t.Errorf("%+v", u)
	}
	if len(u.Agent) > 128 || strings.ContainsRune(u.Agent, 27) {
		t.Errorf("agent %q", u.Agent)
	}
	a.Forget("edge1")
	if _, ok := a.Usage("edge1"); ok {
		t.Error("a removed bouncer has figures")
	}
}

// FuzzQuery: no query breaks the server, and what it answers is JSON.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"", "startup=true", "ip=192.0.2.1", "range=10.0.0.0/8&contains=false", "scopes=ip,range&origins=edgeguard", "value=%00", "scenarios_containing=a,b,,", "ip=%zz;x"} {
		f.Add(query, true)
		f.Add(query, false)
	}
	a := newAPI(f)
	a.block("192.0.2.1/32", time.Hour)
	a.block("2001:db8::/64", time.Hour, proxied)
	f.Fuzz(func(t *testing.T, query string, stream bool) {
		a.now = a.now.Add(time.Millisecond)
		r := httptest.NewRequest("GET", "/v1/decisions", nil)
		if stream {
			r.URL.Path += "/stream"
		}
		r.URL.RawQuery, r.RemoteAddr = query, a.addr
		r.Header.Set("X-Api-Key", a.key)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if !json.Valid(w.Body.Bytes()) || !slices.Contains([]int{200, 400, 414, 429}, w.Code) {
			t.Fatalf("%q: %d %s", query, w.Code, w.Body)
		}
	})
}

// BenchmarkStream100k serves 100,000 decisions, packed and not.
func BenchmarkStream100k(b *testing.B) {
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			a := newAPI(b)
			for i := range 100_000 {
				a.block(fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255), 1000*time.Hour)
			}
			server := httptest.NewServer(a)
			defer server.Close()
			size := 0
			for b.Loop() {
				a.now = a.now.Add(time.Minute)
				r, _ := http.NewRequest("GET", server.URL+"/v1/decisions/stream?startup=true", nil)
				r.Header.Set("X-Api-Key", a.key)
				r.Header.Set("Accept-Encoding", encoding)
				got, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, got.Body)
				_ = got.Body.Close()
				if err != nil || got.StatusCode != 200 {
					b.Fatal(got.StatusCode, err)
				}
				size = int(n)
			}
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}
