package spop_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/haproxy/spop"
	"edgeguard/haproxy/spop/spoptest"
)

// What HAProxy 2.6.12 wrote: a HELLO, that of a health check, and the NOTIFY of
// `args src=src method=method host=req.fhdr(host) path=pathq agent=req.fhdr(user-agent)
// referer=req.fhdr(referer)`.
const (
	helloOf26 = "000000810100000001000012737570706f727465642d76657273696f6e730803322e300e6d61782d6672616d652d73697a6503fcf006" +
		"0c6361706162696c69746965730810706970656c696e696e672c6173796e63" +
		"09656e67696e652d6964082466376163386165392d626262362d343335652d623030362d323337373464376538643133"
	checkOf26 = "0000004e0100000001000012737570706f727465642d76657273696f6e730803322e300e6d61782d6672616d652d73697a6503fcf006" +
		"0c6361706162696c697469657308000b6865616c7468636865636b11"
	notifyOf26 = "000000640300000001000107726571756573740603737263067f000001066d6574686f64080347455404686f7374080f3132372e302e302e313a3138313831" +
		"047061746808062f613f623d31056167656e74080b6375726c2f372e38382e31077265666572657200"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The test's own HAProxy writes what the real one does.
func TestFramesOfHAProxy(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{spoptest.Hello("2.0", spop.UsualFrame, false), helloOf26},
		{spoptest.Hello("2.0", spop.UsualFrame, true), checkOf26},
		{spoptest.Frame(spop.TypeNotify, 0, 1, spoptest.Message("request", spoptest.Arg{Name: "src", Value: netip.MustParseAddr("127.0.0.1")},
			spoptest.Arg{Name: "method", Value: "GET"}, spoptest.Arg{Name: "host", Value: "127.0.0.1:18181"},
			spoptest.Arg{Name: "path", Value: "/a?b=1"}, spoptest.Arg{Name: "agent", Value: "curl/7.88.1"}, spoptest.Arg{Name: "referer"})), notifyOf26},
	} {
		if want := unhex(t, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("\n%x, want\n%x", c.got, want)
		}
	}
	f, size, err := spop.NextFrame(unhex(t, helloOf26), spop.UsualFrame)
	if err != nil || size != len(helloOf26)/2 || f.Type != spop.TypeHello || f.Stream != 0 || f.ID != 0 {
		t.Fatalf("%+v, %d, %v", f, size, err)
	}
	if hello, err := spop.ReadHello(f.Payload); err != nil || hello != (spop.Hello{MaxFrame: 16380}) {
		t.Errorf("%+v, %v", hello, err)
	}
}

func TestReadHello(t *testing.T) {
	for name, c := range map[string]struct {
		frame []byte
		want  spop.Hello
		err   error
	}{
		"check":         {spoptest.Hello("2.0", 16380, true), spop.Hello{MaxFrame: 16380, HealthCheck: true}, nil},
		"versions":      {spoptest.Hello("1.0, 2.0", 256, false), spop.Hello{MaxFrame: 256}, nil},
		"other version": {spoptest.Hello("3.0,12.0,2.01", 16380, false), spop.Hello{}, spop.BadVersion},
		"small":         {spoptest.Hello("2.0", 255, false), spop.Hello{}, spop.BadFrameSize},
		"large":         {spoptest.Hello("2.0", 1<<32-1, false), spop.Hello{}, spop.BadFrameSize},
		"no version":    {spoptest.Frame(spop.TypeHello, 0, 0, spoptest.Pair(nil, "max-frame-size", uint32(256))), spop.Hello{}, spop.NoVersion},
		"no size":       {spoptest.Frame(spop.TypeHello, 0, 0, spoptest.Pair(nil, "supported-versions", "2.0")), spop.Hello{}, spop.NoFrameSize},
		"cut":           {spoptest.Frame(spop.TypeHello, 0, 0, []byte("\x03max")), spop.Hello{}, spop.Invalid},
		"nothing":       {spoptest.Frame(spop.TypeHello, 0, 0, nil), spop.Hello{}, spop.NoVersion},
	} {
		f, _, err := spop.NextFrame(c.frame, spop.UsualFrame)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := spop.ReadHello(f.Payload); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestNextBounds(t *testing.T) {
	whole := spoptest.Frame(spop.TypeNotify, 300, 7, make([]byte, 1000))
	for cut := range whole {
		if _, size, err := spop.NextFrame(whole[:cut], spop.UsualFrame); size != 0 || err != nil {
			t.Fatalf("%d bytes of a frame: %d, %v", cut, size, err)
		}
	}
	if f, size, err := spop.NextFrame(append(whole, 1), len(whole)-4); err != nil || size != len(whole) || f.Stream != 300 || f.ID != 7 || len(f.Payload) != 1000 {
		t.Errorf("%+v, %d, %v", f, size, err)
	}
	fragment, aborted := bytes.Clone(whole), bytes.Clone(whole)
	fragment[8], aborted[8] = 0, 3
	for name, c := range map[string]struct {
		b    []byte
		most int
		want spop.Status
	}{
		"longer than allowed":        {whole, len(whole) - 5, spop.TooBig},
		"the length alone":           {[]byte{0xff, 0xff, 0xff, 0xff}, 1 << 20, spop.TooBig},
		"no room for IDs":            {[]byte{0, 0, 0, 6, 3, 0, 0, 0, 1, 0}, 1 << 20, spop.Invalid},
		"a fragment":                 {fragment, 1 << 20, spop.Fragmented},
		"an aborted one":             {aborted, 1 << 20, spop.Fragmented},
		"an ID that ends too late":   {[]byte{0, 0, 0, 8, 3, 0, 0, 0, 1, 0xf0, 0x80, 0x80}, 1 << 20, spop.Invalid},
		"an ID that is not there":    {[]byte{0, 0, 0, 7, 3, 0, 0, 0, 1, 0xf0, 0x01}, 1 << 20, spop.Invalid},
		"an ID of more than 64 bits": {append([]byte{0, 0, 0, 20, 3, 0, 0, 0, 1}, bytes.Repeat([]byte{0xff}, 15)...), 1 << 20, spop.Invalid},
		"HTTP":                       {[]byte("GET / HTTP/1.1\r\n\r\n"), spop.UsualFrame, spop.TooBig},
		"TLS":                        {[]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), spop.UsualFrame, spop.TooBig},
	} {
		if _, _, err := spop.NextFrame(c.b, c.most); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNotify(t *testing.T) {
	v4, v6 := netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("2001:db8::9")
	payload := spoptest.Message("first", spoptest.Arg{Name: "src", Value: v4}, spoptest.Arg{Name: "host", Value: "a.example"})
	payload = append(payload, spoptest.Message("empty")...)
	payload = append(payload, spoptest.Message("last", spoptest.Arg{Name: "six", Value: v6}, spoptest.Arg{Name: "none"},
		spoptest.Arg{Name: "yes", Value: true}, spoptest.Arg{Name: "number", Value: uint32(1 << 31)},
		spoptest.Arg{Name: "long", Value: strings.Repeat("x", 5000)})...)
	got := map[string]any{}
	n := spop.ReadNotify(payload)
	for n.NextArg() {
		v := n.Value()
		if a, ok := v.Addr(); ok {
			got[string(n.ArgName())] = a
		} else if text, ok := v.Text(); ok {
			got[string(n.ArgName())] = string(text)
		} else if u, ok := v.Uint(); ok {
			got[string(n.ArgName())] = u
		} else {
			got[string(n.ArgName())] = [2]bool{v.IsNull(), v.IsTrue()}
		}
	}
	want := map[string]any{"src": v4, "host": "a.example", "six": v6, "none": [2]bool{true, false}, "yes": [2]bool{false, true},
		"number": uint64(1 << 31), "long": strings.Repeat("x", 5000)}
	if n.Err() != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, n.Err())
	}
	for cut := 1; cut < len(payload); cut++ {
		n := spop.ReadNotify(payload[:cut])
		for n.NextArg() {
		}
		ends := cut == len("\x05first\x02\x03src\x06....\x04host\x08\x09a.example") || cut == len("\x05first\x02\x03src\x06....\x04host\x08\x09a.example\x05empty\x00")
		if ends != (n.Err() == nil) {
			t.Fatalf("%d of %d bytes: %v", cut, len(payload), n.Err())
		}
		if n.NextArg() {
			t.Fatal("it reads on after an error")
		}
	}
}

// An address that HAProxy writes as ::ffff:a.b.c.d is the client's IPv4 address.
func TestMappedAddr(t *testing.T) {
	n := spop.ReadNotify(spoptest.Message("m", spoptest.Arg{Name: "src", Value: netip.MustParseAddr("::ffff:203.0.113.9")}))
	if !n.NextArg() {
		t.Fatal(n.Err())
	}
	if a, ok := n.Value().Addr(); !ok || a != netip.MustParseAddr("203.0.113.9") {
		t.Errorf("%v, %v", a, ok)
	}
}

// Values of a type that SPOP does not have, and signed numbers.
func TestValueKinds(t *testing.T) {
	for payload, want := range map[string]error{
		"\x01m\x01\x01a\x0a":     spop.Invalid,
		"\x01m\x01\x01a\x0f":     spop.Invalid,
		"\x01m\x01\x01a\x02\x05": nil,
		"\x01m\x01\x01a\x02\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e":     nil, // -1
		"\x01m\x01\x01a\x04\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0f":     spop.Invalid,
		"\x01m\x01\x01a\x09\x02\x00\xff":                                 nil,
		"\x01m\x01\x01a\x08\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0etext": spop.Invalid,
	} {
		n := spop.ReadNotify([]byte(payload))
		for n.NextArg() {
		}
		if !errors.Is(n.Err(), want) {
			t.Errorf("%x: %v, want %v", payload, n.Err(), want)
		}
	}
	n := spop.ReadNotify([]byte("\x01m\x01\x01a\x02\xff\xf0\xfe\xfe\xfe\xfe\xfe\xfe\xfe\x0e"))
	if !n.NextArg() {
		t.Fatal(n.Err())
	}
	if u, ok := n.Value().Uint(); ok {
		t.Errorf("-1 is %d", u)
	}
}

func TestAck(t *testing.T) {
	a := spop.BeginAck([]byte("before"), spop.Frame{Stream: 4660, ID: 1})
	a.SetUint("action", 1)
	a.SetUint("retry_after", 600)
	a.SetText("rule", "login")
	b := a.FrameBytes()
	f, size, err := spop.NextFrame(b[len("before"):], spop.UsualFrame)
	if err != nil || size != len(b)-len("before") || f.Type != spop.TypeAck || f.Stream != 4660 || f.ID != 1 {
		t.Fatalf("%+v, %d, %v", f, size, err)
	}
	vars, ok := spoptest.Vars(f.Payload)
	if want := map[string]any{"action": uint64(1), "retry_after": uint64(600), "rule": "login"}; !ok || !maps.Equal(vars, want) {
		t.Errorf("%v", vars)
	}
}

func TestAgentHelloAndDisconnect(t *testing.T) {
	b := spop.AppendDisconnect(spop.AppendHello(nil, 16380), spop.BadVersion)
	f, size, err := spop.NextFrame(b, spop.UsualFrame)
	want := spoptest.Pair(spoptest.Pair(spoptest.Pair(nil, "version", "2.0"), "max-frame-size", uint32(16380)), "capabilities", "pipelining")
	if err != nil || f.Type != spop.TypeAgentHello || !bytes.Equal(f.Payload, want) {
		t.Errorf("%+v, %v", f, err)
	}
	f, rest, err := spop.NextFrame(b[size:], spop.UsualFrame)
	if err != nil || f.Type != spop.TypeAgentDisconnect || size+rest != len(b) {
		t.Errorf("%+v, %v", f, err)
	}
	if why, text, err := spop.ReadDisconnect(f.Payload); why != spop.BadVersion || string(text) != "unsupported version" || err != nil {
		t.Errorf("%d, %q, %v", why, text, err)
	}
	if _, _, err := spop.ReadDisconnect([]byte("\x04cut")); !errors.Is(err, spop.Invalid) {
		t.Error(err)
	}
	if got := spop.Status(77).Error(); got != "status 77" {
		t.Error(got)
	}
}

func TestNotifyDoesNotAllocate(t *testing.T) {
	frame := spoptest.Notify(1, 1, spoptest.Arg{Name: "src", Value: netip.MustParseAddr("203.0.113.9")},
		spoptest.Arg{Name: "path", Value: "/login"}, spoptest.Arg{Name: "referer"})
	out := make([]byte, 0, 256)
	var addr netip.Addr
	if allocs := testing.AllocsPerRun(100, func() {
		f, _, err := spop.NextFrame(frame, spop.UsualFrame)
		if err != nil {
			t.Fatal(err)
		}
		n := spop.ReadNotify(f.Payload)
		for n.NextArg() {
			if a, ok := n.Value().Addr(); ok {
				addr = a
			}
		}
		a := spop.BeginAck(out[:0], f)
		a.SetUint("action", 0)
		out = a.FrameBytes()
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if addr != netip.MustParseAddr("203.0.113.9") {
		t.Error(addr)
	}
}
