package aggregator

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/safetext"
)

// TestHeartbeatFits: a heartbeat with too many addresses is cut to fit, and is read
// only from its own field.
func TestHeartbeatFits(t *testing.T) {
	h := Heartbeat{Node: "edge-a", Boot: "0123456789abcdef", Version: "test"}
	for i := range 200 {
		h.Own = append(h.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	text := h.Encode()
	back, ok := ParseHeartbeat(h.Field(), text)
	if !ok || len(text) > MaxHeartbeat || len(back.Own) == 0 || back.Version != "test" {
		t.Errorf("%d bytes, %d addresses, %v", len(text), len(back.Own), ok)
	}
	if _, ok := ParseHeartbeat("edge-b/0123456789abcdef", text); ok {
		t.Error("accepted from another node's field")
	}
}

// keyA is the key of the golden values: the bytes 0 to 31. keyB is another one.
const (
	keyA = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	keyB = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
)

// goldenBeat is the contract between versions: these bytes were made with
// Python's hmac, not with this package.
const goldenBeat = `{"node":"edge-1","boot":"0123456789abcdef","started":"2026-11-22T09:00:00Z","at":"2026-11-22T09:30:00Z",` +
	`"ahead_ms":0,"push_lag_ms":0,"changes":7,"run":"00c0ffee","seq":3,"key":"f5ecb298","mac":"01f5ecb29887887f519e829d4b9b949d8bf0e4df23"}`

func goldenHeartbeat() Heartbeat {
	return Heartbeat{
		Node: "edge-1", Boot: "0123456789abcdef", Started: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
		At: time.Date(2026, 11, 22, 9, 30, 0, 0, time.UTC), Changes: 7, Run: "00c0ffee", Seq: 3,
	}
}

func TestSignedHeartbeat(t *testing.T) {
	a, both, other := parse(t, keyA), parse(t, keyB, keyA), parse(t, keyB)
	h := goldenHeartbeat()
	text := h.EncodeSigned(a, "edge")
	if text != goldenBeat {
		t.Fatalf("the wire form has changed:\n%s\n%s", text, goldenBeat)
	}
	foreign := strings.Replace(text, `"seq":3`, `"seq":4`, 1)
	for name, row := range map[string]struct {
		keys             *SigningKeys
		namespace, field string
		value            string
		signed, ok       bool
	}{
		"its key":                 {a, "edge", h.Field(), text, true, true},
		"its key is the second":   {both, "edge", h.Field(), text, true, true},
		"another key":             {other, "edge", h.Field(), text, false, true},
		"no key":                  {nil, "edge", h.Field(), text, false, true},
		"another namespace":       {a, "edge2", h.Field(), text, false, true},
		"another field":           {a, "edge", "edge-2/0123456789abcdef", text, false, false},
		"changed":                 {a, "edge", h.Field(), foreign, false, true},
		"of a node without a key": {a, "edge", h.Field(), h.Encode(), false, true},
		"a space at the end":      {a, "edge", h.Field(), text + " ", false, true},
		"too long":                {a, "edge", h.Field(), text + strings.Repeat(" ", MaxHeartbeat), false, false},
		"only the MAC":            {a, "edge", h.Field(), text[len(text)-beatMACSize:], false, false},
		"empty":                   {a, "edge", h.Field(), "", false, false},
	} {
		got, signed, ok := VerifyHeartbeat(row.keys, row.namespace, row.field, row.value)
		if signed != row.signed || ok != row.ok {
			t.Errorf("%s: signed %v, ok %v", name, signed, ok)
		}
		if ok && (got.Node != h.Node || got.Key != "f5ecb298" && row.value != h.Encode()) {
			t.Errorf("%s: read %+v", name, got)
		}
	}
	if h.EncodeSigned(nil, "edge") != h.Encode() {
		t.Error("without a key, the heartbeat differs")
	}
}

// TestSignedHeartbeatFits: with the longest name and too many addresses.
func TestSignedHeartbeatFits(t *testing.T) {
	h := goldenHeartbeat()
	h.Node, h.Version, h.Mode = strings.Repeat("<", 100), strings.Repeat("v", 200), "require"
	h.Digest, h.Cutoff, h.Changes, h.Seq, h.Monitor = strings.Repeat("f", 16), 1<<40, 1<<52, 1<<63, true
	for i := range 200 {
		h.Own = append(h.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	k := parse(t, keyA)
	text := h.EncodeSigned(k, "edge")
	back, signed, ok := VerifyHeartbeat(k, "edge", h.Field(), text)
	if !signed || !ok || len(text) > MaxHeartbeat {
		t.Errorf("%d bytes, signed %v, ok %v", len(text), signed, ok)
	}
	h.Node = "edge-1"
	back, signed, ok = VerifyHeartbeat(k, "edge", h.Field(), h.EncodeSigned(k, "edge"))
	if !signed || !ok || len(back.Own) == 0 || back.Version != h.Version {
		t.Errorf("%d addresses, version %q, signed %v, ok %v", len(back.Own), back.Version, signed, ok)
	}
}

// TestHeartbeatText: what a command prints of a heartbeat has no control
// character in it. An address may have a zone, which is free text.
func TestHeartbeatText(t *testing.T) {
	plain := goldenHeartbeat().Encode()
	for name, row := range map[string]struct{ old, new, field string }{
		"name":    {`"edge-1"`, `"edge\u001b1"`, "edge\x1b1/0123456789abcdef"},
		"boot":    {`"0123456789abcdef"`, `"0123456789abcde\u202e"`, "edge-1/0123456789abcde\u202e"},
		"version": {`"changes"`, `"version":"1\u009b","changes"`, ""},
		"digest":  {`"changes"`, `"digest":"\u0007","changes"`, ""},
		"mode":    {`"changes"`, `"mode":"\u007f","changes"`, ""},
		"zone":    {`"changes"`, `"own":["fe80::1%\u001b[2J"],"changes"`, ""},
	} {
		field := row.field
		if field == "" {
			field = "edge-1/0123456789abcdef"
		}
		text := strings.Replace(plain, row.old, row.new, 1)
		if h, ok := ParseHeartbeat(field, text); ok || text == plain {
			t.Errorf("%s: accepted %+v", name, h)
		}
	}
	if _, ok := ParseHeartbeat("edge-1/0123456789abcdef", strings.Replace(plain, `"changes"`, `"own":["fe80::1%eth0"],"changes"`, 1)); !ok {
		t.Error("a zone is refused")
	}
}

// longPrefixes returns n of them, as long as they can be.
func longPrefixes(n int) (out []netip.Prefix) {
	for i := range n {
		out = append(out, netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("2001:1db8:1111:2222:3333:4444:5555:%x", 0xf000+i)), 128))
	}
	return out
}

// TestHeartbeatWaits: what is held is signed, bounded, and
// gives way to the node's addresses.
func TestHeartbeatWaits(t *testing.T) {
	k, held := parse(t, keyA), uint32(70_000)
	h := goldenHeartbeat()
	h.Held, h.Waits = &held, longPrefixes(20)
	text := h.EncodeSigned(k, "edge")
	back, signed, ok := VerifyHeartbeat(k, "edge", h.Field(), text)
	if !ok || !signed || *back.Held != held || !slices.Equal(back.Waits, h.Waits[:MostWaits]) {
		t.Errorf("%s: signed %v, ok %v, read %+v", text, signed, ok, back)
	}
	for _, changed := range []string{strings.Replace(text, "70000", "70001", 1), strings.Replace(text, ":f000/", ":f00f/", 1)} {
		if _, signed, _ := VerifyHeartbeat(k, "edge", h.Field(), changed); signed || changed == text {
			t.Errorf("signed although it was changed: %s", changed)
		}
	}
	none := uint32(0)
	h.Held, h.Waits = &none, nil
	if back, _ := ParseHeartbeat(h.Field(), h.Encode()); back.Held == nil || *back.Held != 0 || len(back.Waits) != 0 {
		t.Errorf("nothing is held: %s", h.Encode())
	}
	h.Held, h.Waits = &held, longPrefixes(MostWaits)
	for i := range 40 {
		h.Own = append(h.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	if back, _, ok := VerifyHeartbeat(k, "edge", h.Field(), h.EncodeSigned(k, "edge")); !ok || len(back.Own) != 40 || len(back.Waits) >= MostWaits || *back.Held != held {
		t.Errorf("%d addresses and %d prefixes of %v", len(back.Own), len(back.Waits), back.Held)
	}
	h.Node = strings.Repeat("<", 100)
	h.Digest, h.Cutoff, h.Changes, h.Seq, h.Monitor, h.Mode = strings.Repeat("f", 16), 1<<40, 1<<52, 1<<63, true, "require"
	if text := h.EncodeSigned(k, "edge"); len(text) > MaxHeartbeat {
		t.Errorf("with the longest name: %d bytes", len(text))
	}
}

// TestForgedWaits: whoever can write heartbeats makes a node say no more than a
// number and eight prefixes.
func TestForgedWaits(t *testing.T) {
	plain := goldenHeartbeat().Encode()
	for forged, want := range map[string]string{
		`"held":1,"waits":["203.0.113.0/24"],`:                            "[203.0.113.0/24]",
		`"held":1,"waits":["",null,"203.0.113.0/24"],`:                    "[203.0.113.0/24]",
		`"held":9,"waits":[` + strings.Repeat(`"::/0",`, 40) + `"::/0"],`: "[" + strings.Repeat("::/0 ", MostWaits-1) + "::/0]",
		`"held":4294967295,`:                                              "[]",
		`"held":null,"waits":null,`:                                       "[]",
		`"held":-1,`:                                                      "refused",
		`"held":1e99,`:                                                    "refused",
		`"held":"1",`:                                                     "refused",
		`"waits":"203.0.113.0/24",`:                                       "refused",
		`"waits":["203.0.113.0/24\u001b"],`:                               "refused",
		`"waits":["fe80::%\u001b/64"],`:                                   "refused",
		`"waits":["edge-1"],`:                                             "refused",
	} {
		got := "refused"
		if h, ok := ParseHeartbeat("edge-1/0123456789abcdef", strings.Replace(plain, `"run"`, forged+`"run"`, 1)); ok {
			got = fmt.Sprint(h.Waits)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", forged, got, want)
		}
	}
}

// What a heartbeat is parsed into is bounded, can be printed, and is encoded
// within the bound and to what is parsed to the same.
func FuzzHeartbeat(f *testing.F) {
	h, held := goldenHeartbeat(), uint32(9)
	f.Add(h.Encode())
	h.Held, h.Waits, h.Own = &held, longPrefixes(8), []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}
	f.Add(h.Encode())
	f.Add(goldenBeat)
	f.Fuzz(func(t *testing.T, text string) {
		h, ok := ParseHeartbeat("edge-1/0123456789abcdef", text)
		if !ok {
			return
		}
		if len(h.Waits) > MostWaits || !safetext.Clean(fmt.Sprint(h.Waits, h.Own, h.Version, h.Mode, h.Key, h.Run, h.Digest)) {
			t.Errorf("%q is parsed into %+v", text, h)
		}
		h.Digest, h.Run, h.Key, h.Mode = "", "", "", "" // a node's own are short
		again := h.Encode()
		if back, ok := ParseHeartbeat(h.Field(), again); !ok || len(again) > MaxHeartbeat || back.Encode() != again {
			t.Errorf("%q is encoded to %d bytes: %q", text, len(again), again)
		}
	})
}

// The spans that a node asks for give way to its addresses, and whoever writes heartbeats has nobody asked
// for more than a node may.
func TestHeartbeatSpans(t *testing.T) {
	h := goldenHeartbeat()
	h.Spans = []Span{{Step: 15, Length: 97}, {Step: 1, Length: 61, Until: 29_000_000}}
	if back, ok := ParseHeartbeat(h.Field(), h.Encode()); !ok || !slices.Equal(back.Spans, h.Spans) {
		t.Errorf("%v, %v", ok, back.Spans)
	}
	for i := range 200 {
		h.Own = append(h.Own, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
	}
	if text := h.Encode(); len(text) > MaxHeartbeat || strings.Contains(text, "spans") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	plain := goldenHeartbeat().Encode()
	forged := strings.Replace(plain, `"changes"`, `"spans":[{},{"step":-1,"length":1},{"step":1,"length":1000000},{"step":1,"length":1,"until":-1},{"step":2,"length":1},`+
		`{"step":3,"length":1},{"step":4,"length":1},{"step":5,"length":1}],"changes"`, 1)
	if back, ok := ParseHeartbeat(h.Field(), forged); !ok || !slices.Equal(back.Spans, []Span{{Step: 2, Length: 1}, {Step: 3, Length: 1}, {Step: 4, Length: 1}}) {
		t.Errorf("%v, %v", ok, back.Spans)
	}
}
