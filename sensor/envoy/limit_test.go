package envoy

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

// limitRequest is a call with descriptors, each a list of keys and values.
func limitRequest(hits uint64, descriptors ...[]string) []byte {
	out := AppendText(nil, 1, "edgeguard")
	for _, d := range descriptors {
		out = AppendMessage(out, 2, func(out []byte) []byte {
			for i := 0; i < len(d); i += 2 {
				out = AppendMessage(out, 1, func(out []byte) []byte {
					return AppendText(AppendText(out, 1, d[i]), 2, d[i+1])
				})
			}
			return out
		})
	}
	return AppendWhole(out, 3, hits)
}

// However many descriptors a call has, it is one event.
func TestLimitEvents(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide, Trust: trust(t, "10.0.0.0/8")}, Look: d.look})
	event := edgeguard.Event{Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest, Addr: netip.MustParseAddr("192.0.2.7"), Named: true, Hits: 1}
	for _, one := range []struct {
		name    string
		message []byte
		edit    func(*edgeguard.Event)
	}{
		{"an address", limitRequest(0, []string{"remote_address", "192.0.2.7"}), func(*edgeguard.Event) {}},
		{"two descriptors", limitRequest(5, []string{"generic_key", "a"}, []string{"remote_address", "192.0.2.7", "path", "/x", "method", "GET"}, []string{"path", "/y", "host", "h", "user_agent", ""}),
			func(e *edgeguard.Event) {
				e.Hits, e.Path, e.Method, e.Host = 5, "/x", "GET", "h"
				e.Known = all
			}},
		{"a rule's name alone", limitRequest(0, []string{"remote_address", "192.0.2.7", "edgeguard_rule", "site"}), func(*edgeguard.Event) {}},
		{"behind a proxy", limitRequest(0, []string{"remote_address", "10.0.0.1", "x-forwarded-for", "203.0.113.9"}),
			func(e *edgeguard.Event) {
				e.Addr, e.Proxied, e.Known = netip.MustParseAddr("203.0.113.9"), true, edgeguard.FieldHeader
			}},
		{"more hits than a window's slot holds", limitRequest(1<<31, []string{"remote_address", "192.0.2.7"}), func(e *edgeguard.Event) { e.Hits = 65535 }},
	} {
		before := len(d.events)
		status, m := c.call(LimitMethod, frame(one.message))
		want := event
		one.edit(&want)
		got := d.last(t)
		if (got.Header != nil) != (want.Known&edgeguard.FieldHeader != 0) {
			t.Errorf("%s: header %v", one.name, got.Header != nil)
		}
		got.Header = nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || status != "0" || len(d.events) != before+1 {
			t.Errorf("%s: %s %x, %d events\n got %+v\nwant %+v", one.name, status, m, len(d.events)-before, got, want)
		}
	}
	if st := s.Stats(); st.Events() != 5 {
		t.Errorf("%+v", st)
	}
}

// Hits of a descriptor hold before those of the call; none, and those that are to be given
// back, are a look at the blocks alone.
func TestHits(t *testing.T) {
	descriptor := func(parts ...[]byte) []byte {
		return AppendMessage(nil, 2, func(out []byte) []byte { return append(out, bytes.Join(parts, nil)...) })
	}
	own := func(n uint64) []byte {
		return AppendMessage(nil, 3, func(out []byte) []byte { return AppendWhole(out, 1, n) })
	}
	returns := AppendWhole(nil, 4, 1)
	for _, one := range []struct {
		name    string
		message []byte
		want    uint16
	}{
		{"one", descriptor(), 1},
		{"the call's", append(descriptor(), AppendWhole(nil, 3, 7)...), 7},
		{"its own", append(descriptor(own(3)), AppendWhole(nil, 3, 7)...), 3},
		{"none", append(descriptor(own(0)), AppendWhole(nil, 3, 7)...), 0},
		{"none, and another's", append(descriptor(own(0)), descriptor()...), 1},
		{"given back", append(descriptor(own(3), returns), AppendWhole(nil, 3, 7)...), 0},
		{"many", descriptor(own(1 << 60)), 65535},
		{"no descriptor", nil, 0},
	} {
		var c call
		if !c.limit.Read(one.message) || c.hits() != one.want {
			t.Errorf("%s: %d", one.name, c.hits())
		}
	}
}

// Each descriptor has its status, in order.
func TestStatuses(t *testing.T) {
	var d desk
	policy := func(rule string) (refusal.Policy, bool) {
		return refusal.Policy{Quota: 100, Window: time.Minute}, rule == "site"
	}
	count := func(_ time.Time, _ *edgeguard.Event, rule string) (Count, bool) {
		return Count{Count: 130, Limit: 200, Window: 5 * time.Minute}, rule == "login"
	}
	_, c := start(t, Config{Config: inline.Config{Decide: d.decide, Policy: policy}, Look: d.look, Count: count})
	ok, over := LimitStatus{}, LimitStatus{Over: true, Limit: &Limit{Rule: "site", Events: 100, Window: time.Minute}, Reset: 42 * time.Second}
	login := LimitStatus{Limit: &Limit{Rule: "login", Events: 200, Window: 5 * time.Minute}, Left: 70, Reset: 5 * time.Minute}
	address := []string{"remote_address", "192.0.2.7"}
	for _, one := range []struct {
		name        string
		path        string
		descriptors [][]string
		want        []LimitStatus
	}{
		{"passed", "/", [][]string{address, {"generic_key", "x"}}, []LimitStatus{ok, ok}},
		{"with a rule", "/", [][]string{{"edgeguard_rule", "login"}, {"edgeguard_rule", "none"}, address}, []LimitStatus{login, ok, ok}},
		{"refused", "/deny", [][]string{{"generic_key", "x"}, address}, []LimitStatus{ok, over}},
		{"refused by the rule", "/deny", [][]string{{"edgeguard_rule", "site"}, {"remote_address", "192.0.2.7", "edgeguard_rule", "login"}}, []LimitStatus{over, ok}},
		{"refused by another", "/deny", [][]string{{"remote_address", "192.0.2.7", "edgeguard_rule", "login"}}, []LimitStatus{over}},
	} {
		one.descriptors = append(one.descriptors, []string{"path", one.path, "remote_address", "192.0.2.7", "edgeguard_rule", "none"})
		one.want = append(one.want, ok)
		if one.name == "refused by another" {
			one.want[1] = over
		}
		_, m := c.call(LimitMethod, frame(limitRequest(0, one.descriptors...)))
		want := (&LimitAnswer{Over: one.path == "/deny", Statuses: one.want}).Append(nil)
		if !bytes.HasPrefix(m[5:], want) || one.path != "/deny" && len(m) != len(want)+5 {
			t.Errorf("%s:\n got %q\nwant %q", one.name, m[5:], want)
		}
		if one.path == "/deny" && !(bytes.Contains(m, []byte("retry-after\x12\x0242")) && bytes.Contains(m, []byte("quota-exceeded"))) {
			t.Errorf("%s: %q", one.name, m)
		}
	}
}

// A call whose client cannot be told passes: an address cut short names none.
func TestLimitNoClient(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	for _, descriptors := range [][][]string{
		{}, {{}}, {{"generic_key", "x"}}, {{"masked_remote_address", "192.0.2.0/24"}}, {{"remote_address", "192.0.2.0/24"}}, {{"remote_address", ""}}, {{"remote_address", "127.0.0.1"}},
	} {
		status, m := c.call(LimitMethod, frame(limitRequest(0, descriptors...)))
		want := []byte{0x08, 1}
		for range descriptors {
			want = append(want, 0x12, 2, 0x08, 1)
		}
		if status != "0" || !bytes.Equal(m[5:], want) {
			t.Errorf("%q: %s %x", descriptors, status, m)
		}
	}
	if st := s.Stats(); st.NoClient != 7 || len(d.events) != 0 {
		t.Errorf("%+v", st)
	}
}

// No hits are a look, which counts nothing.
func TestLook(t *testing.T) {
	var d desk
	s, c := start(t, Config{Config: inline.Config{Decide: d.decide}, Look: d.look})
	m := append(limitRequest(0), AppendMessage(nil, 2, func(out []byte) []byte {
		out = AppendMessage(out, 1, func(out []byte) []byte {
			return AppendText(AppendText(out, 1, "remote_address"), 2, "192.0.2.7")
		})
		return AppendMessage(out, 3, func(out []byte) []byte { return out })
	})...)
	if status, _ := c.call(LimitMethod, frame(m)); status != "0" || d.looked != 1 || len(d.events) != 0 {
		t.Errorf("%s, looked %d, %d events", status, d.looked, len(d.events))
	}
	if st := s.Stats(); st.LookedUp != 1 || st.Passed != 1 || st.Events() != 0 {
		t.Errorf("%+v", st)
	}
}
