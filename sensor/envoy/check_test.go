package envoy

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/inline"
)

const all = edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldAgent | edgeguard.FieldHeader

func trust(t *testing.T, prefixes ...string) *clientaddr.Trust {
	t.Helper()
	var of []netip.Prefix
	for _, p := range prefixes {
		of = append(of, netip.MustParsePrefix(p))
	}
	trust, err := clientaddr.NewTrust(of, true)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// What Envoy says of a request becomes one event.
func TestCheckEvents(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide, Trust: trust(t, "10.0.0.0/8")}, Look: d.look})
	for i, one := range []struct {
		name    string
		message []byte
		want    edgeguard.Event
		xff     bool
	}{
		{name: "a client of Envoy", message: checkRequest("192.0.2.7", "GET", "site.example", "/a?b", "user-agent", "curl", "referer", "r", "sec-fetch-site", "none", "x-api-key", "k"),
			want: edgeguard.Event{Addr: netip.MustParseAddr("192.0.2.7"), Host: "site.example", Method: "GET", Path: "/a?b", Agent: "curl", Referer: "r", FetchSite: "none",
				Known: all | edgeguard.FieldReferer | edgeguard.FieldFetchSite}},
		{name: "a forged header of it", message: checkRequest("192.0.2.7", "GET", "h", "/", "x-forwarded-for", "203.0.113.9, 10.0.0.1"),
			want: edgeguard.Event{Addr: netip.MustParseAddr("192.0.2.7"), Host: "h", Method: "GET", Path: "/", Known: all}},
		{name: "a client of a proxy", message: checkRequest("10.0.0.1", "GET", "h", "/", "x-forwarded-for", "198.51.100.1, 203.0.113.9, 10.0.0.1"),
			want: edgeguard.Event{Addr: netip.MustParseAddr("203.0.113.9"), Proxied: true, Host: "h", Method: "GET", Path: "/", Known: all}},
		{name: "IPv6, mapped", message: checkRequest("::ffff:192.0.2.7", "", "", ""),
			want: edgeguard.Event{Addr: netip.MustParseAddr("192.0.2.7"), Known: all}},
	} {
		status, m := c.call(CheckMethod, frame(one.message))
		e := d.last(t)
		value, ok := e.Header("x-api-key")
		e.Header = nil
		one.want.Kind, one.want.Verified, one.want.Named = edgeguard.KindRequest, edgeguard.KindRequest, true
		if got, want := fmt.Sprintf("%+v", e), fmt.Sprintf("%+v", one.want); status != "0" || got != want || ok != (i == 0) || ok && value != "k" {
			t.Errorf("%s: %s %x %s %q\nwant %s", one.name, status, m, got, value, want)
		}
		if want := frame([]byte{0x0a, 0, 0x1a, 0}); !bytes.Equal(m, want) {
			t.Errorf("%s: %x", one.name, m)
		}
	}
	if s := s.Stats(); s.Passed != 4 || s.Events() != 4 || s.NoClient != 0 {
		t.Errorf("%+v", s)
	}
}

// A refusal is what other proxies send, and a shadow is a pass that the log can show.
func TestCheckAnswers(t *testing.T) {
	var d desk
	_, c := start(t, Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	_, m := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/deny")))
	for _, want := range []string{"\x0a\x02\x08\x07", "\x0a\x03\x08\xad\x03", "\x0a\x0bRetry-After\x12\x0242", "X-Edgeguard-Rule", "quota-exceeded", "\x0a\x06action\x12\x06\x1a\x04deny"} {
		if !strings.Contains(string(m), want) {
			t.Errorf("a refusal has no %q: %q", want, m)
		}
	}
	_, m = c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/shadow")))
	for _, want := range []string{"\x0a\x00", "\x1a\x00", "\x0a\x06action\x12\x08\x1a\x06shadow", "\x0a\x04rule\x12\x06\x1a\x04site"} {
		if !strings.Contains(string(m), want) {
			t.Errorf("a shadow has no %q: %q", want, m)
		}
	}
}

// Without a client's address a request passes, and it is reported as not counted.
func TestCheckNoClient(t *testing.T) {
	var d desk
	var uncounted []edgeguard.Uncounted
	var alarms []string
	s, c := start(t, Config{Look: d.look, Config: inline.Config{Decide: d.decide, Uncounted: func(_ time.Time, u []edgeguard.Uncounted) { uncounted = append(uncounted, u...) }, Alarm: func(kind, text string) { alarms = append(alarms, kind+": "+text) }}})
	for _, message := range [][]byte{
		checkRequest("", "GET", "h", "/deny"),
		checkRequest("0.0.0.0", "GET", "h", "/deny"),
		checkRequest("unix", "GET", "h", "/deny"),
		checkRequest("127.0.0.1", "GET", "h", "/deny"),
		checkRequest("127.0.0.1", "GET", "h", "/deny", "x-forwarded-for", "unknown"),
	} {
		if status, m := c.call(CheckMethod, frame(message)); status != "0" || !bytes.Contains(m, []byte{0x1a, 0}) {
			t.Errorf("%s %x", status, m)
		}
	}
	if st := s.Stats(); st.NoClient != 5 || st.Events() != 0 || len(d.events) != 0 {
		t.Errorf("%+v", st)
	}
	if len(uncounted) != 5 || uncounted[0].Reason != edgeguard.NoClient || len(alarms) != 5 || !strings.Contains(alarms[3], "use_remote_address") {
		t.Errorf("%v, %q", uncounted, alarms)
	}
}

// A decision that panics is a pass, and the next call is answered.
func TestPanic(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	if status, m := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/panic"))); status != "0" || !bytes.Contains(m, []byte{0x1a, 0}) {
		t.Errorf("%s %x", status, m)
	}
	if st := s.Stats(); st.Panics != 1 || st.Passed != 1 {
		t.Errorf("%+v", st)
	}
}

// What is too long is refused by the message's answer: an Envoy that fails open would let
// an error pass. All else that is wrong is an error.
func TestErrors(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	longest := checkRequest("192.0.2.7", "GET", "h", "/"+strings.Repeat("a", mostMessage-60))
	for _, one := range []struct {
		name, method string
		body         []byte
		status       string
		answer       string
	}{
		{"as long as can be", CheckMethod, frame(longest), "0", "\x1a\x00"},
		{"too long", CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", strings.Repeat("a", mostMessage))), "0", "\x08\xaf\x03"},
		{"too long to limit", LimitMethod, frame(make([]byte, mostMessage+1)), "0", "\x08\x02"},
		{"compressed", CheckMethod, append([]byte{1}, frame(nil)[1:]...), "12", ""},
		{"an unknown method", "/envoy.service.auth.v3.Authorization/Other", frame(nil), "12", ""},
		{"another version", "/envoy.service.auth.v2.Authorization/Check", frame(nil), "12", ""},
		{"not protobuf", CheckMethod, frame([]byte{0x0a, 0xff}), "3", ""},
		{"not protobuf, to limit", LimitMethod, frame([]byte{0xff}), "3", ""},
		{"no message", CheckMethod, nil, "13", ""},
		{"half a message", CheckMethod, frame(longest)[:100], "13", ""},
		{"two messages", CheckMethod, append(frame(nil), frame(nil)...), "13", ""},
		{"a flag that is none", CheckMethod, []byte{7, 0, 0, 0, 0}, "13", ""},
		{"a health check", healthMethod, frame(nil), "0", "\x08\x01"},
	} {
		if status, m := c.call(one.method, one.body); status != one.status || !strings.Contains(string(m), one.answer) || (one.answer == "") != (len(m) == 0) {
			t.Errorf("%s: %s %q", one.name, status, m)
		}
	}
	if st := s.Stats(); st.TooLong != 2 || st.Refused != 2 || st.Unreadable != 9 || st.Checks != 1 || st.Events() != 1 {
		t.Errorf("%+v", st)
	}
	if used := s.read.used.Load(); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
}

// FuzzCheck asks what a peer may ask: whatever is answered, one message of the method.
func FuzzCheck(f *testing.F) {
	f.Add(checkRequest("192.0.2.7", "GET", "site.example", "/deny?b", "user-agent", "curl"))
	f.Add(checkRequest("127.0.0.1", "GET", "h", "/", "x-forwarded-for", "203.0.113.9"))
	f.Add(AppendMessage(nil, 2, func(out []byte) []byte { return out }))
	var d desk
	s, err := New(Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		d.events = nil
		for _, m := range methods {
			c := calls.Get().(*call)
			c.peer, c.trusted, c.message = peer{}, true, message
			c.out = BeginFrame(c.out[:0])
			if m.answer(s.asker, c) {
				EndFrame(c.out, 0)
				of := fieldsOf(c.out[FrameHeadSize:])
				for of.Next() {
				}
				if !of.Good() || len(c.out) <= FrameHeadSize {
					t.Fatalf("%x", c.out)
				}
			}
			c.message = nil // it is not the call's
			c.end()
		}
		for _, e := range d.events {
			if !e.Addr.IsValid() || e.Addr.Is4In6() || e.Addr.Zone() != "" || e.Verified != edgeguard.KindRequest {
				t.Fatalf("%+v", e)
			}
		}
	})
}
