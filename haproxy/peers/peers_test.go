package peers_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
)

// TestRecorded reads what real HAProxies sent to [TestHAProxy], and writes it again
// to the same bytes.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"haproxy-2.6.peers", "haproxy-3.5.peers"} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			h, n, err := peers.ReadHello(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := peers.AppendHello(nil, h); !bytes.Equal(got, b[:n]) {
				t.Errorf("the hello is written %q, it was %q", got, b[:n])
			}
			seen, last := readAll(t, b[n:])
			for _, kind := range []peers.Kind{peers.ResyncRequest, peers.ResyncConfirm, peers.ResyncFinished, peers.TableDefinition, peers.Acknowledge, peers.UpdateWithID, peers.TimedUpdateWithID} {
				if seen[kind] == 0 {
					t.Errorf("no %s", kind)
				}
			}
			if want := "[3 1 0]"; last["192.0.2.1"] != want {
				t.Errorf("192.0.2.1 ends with %s, want %s", last["192.0.2.1"], want)
			}
		})
	}
}

// readAll reads whole messages, and checks that each is written as it was.
func readAll(t *testing.T, b []byte) (seen map[peers.Kind]int, last map[string]string) {
	seen, last = map[peers.Kind]int{}, map[string]string{}
	var tables peers.Tables
	var u peers.Update
	for len(b) > 0 {
		m, n, err := peers.NextMessage(b)
		if err != nil || n == 0 {
			t.Fatalf("%d bytes at the end are no message: %v", len(b), err)
		}
		seen[m.Kind]++
		again, err := again(&tables, m, &u)
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == peers.UpdateNext || m.Kind == peers.TimedUpdateNext { // we always write the ID
			again = slices.Concat(b[:n-len(m.Body)], again[len(again)-len(m.Body):])
		}
		if !bytes.Equal(again, b[:n]) {
			t.Errorf("%s is written %x, it was %x", m.Kind, again, b[:n])
		}
		if at, n := 0, 0; u.Table != nil && u.Table.Name == "/counts" {
			at, n = u.Table.Place(peers.GPC)
			last[u.Addr().String()] = fmt.Sprint(u.Numbers[at : at+n])
		}
		b = b[n:]
	}
	return seen, last
}

// again returns the message as it is written after it was read, nil for a kind that
// has nothing to read.
func again(tables *peers.Tables, m peers.Message, u *peers.Update) ([]byte, error) {
	switch m.Kind {
	case peers.TableDefinition:
		d, err := tables.Define(m)
		if err != nil {
			return nil, err
		}
		return peers.AppendDefinition(nil, d), nil
	case peers.TableSwitch:
		d, err := tables.Switch(m)
		if err != nil {
			return nil, err
		}
		return peers.AppendSwitch(nil, d.ID), nil
	case peers.Acknowledge:
		table, id, err := peers.ReadAcknowledge(m)
		return peers.AppendAcknowledge(nil, table, id), err
	case peers.UpdateWithID, peers.UpdateNext, peers.TimedUpdateWithID, peers.TimedUpdateNext:
		if err := tables.Read(m, u); err != nil {
			return nil, err
		}
		return peers.AppendUpdate(nil, u), nil
	}
	return peers.AppendControl(nil, m.Kind), nil
}

// FuzzMessages checks that reading never panics, that what was read is written and
// read again to the same, and that a cut message is waited for.
func FuzzMessages(f *testing.F) {
	for _, name := range []string{"haproxy-2.6.peers", "haproxy-3.5.peers"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		_, n, _ := peers.ReadHello(b)
		f.Add(b[n : n+400])
		f.Add(b[len(b)-400:])
	}
	f.Add(peers.AppendSwitch(peers.AppendDefinition(nil, everything), everything.ID))
	f.Fuzz(func(t *testing.T, b []byte) {
		var tables, twin peers.Tables
		var u, v peers.Update
		for {
			m, n, err := peers.NextMessage(b)
			if err != nil || n == 0 {
				return
			}
			if n > len(b) || len(m.Body) > peers.MaxMessage {
				t.Fatalf("%s of %d bytes, of %d", m.Kind, n, len(b))
			}
			if _, cut, err := peers.NextMessage(b[:n-1]); cut != 0 || err != nil {
				t.Errorf("%s without its last byte: %d bytes, %v", m.Kind, cut, err)
			}
			b = b[n:]
			written, err := again(&tables, m, &u)
			if err != nil {
				return
			}
			if m.Kind&0x80 != 0 && len(written) == 2 {
				continue // an unknown kind with a body
			}
			m2, n2, err := peers.NextMessage(written)
			if err != nil || n2 != len(written) {
				t.Fatalf("%s is written %x: %d bytes, %v", m.Kind, written, n2, err)
			}
			once, err := again(&twin, m2, &v)
			if err != nil || !bytes.Equal(once, written) && !newer(u.Table) {
				t.Errorf("%s is written %x, and then %x: %v", m.Kind, written, once, err)
			}
		}
	})
}

// newer reports whether a table has what cannot be written again: data types that
// are not known, and texts of a dictionary.
func newer(d *peers.Definition) bool {
	if d == nil {
		return false
	}
	_, servers := d.Place(19)
	return d.Newer || servers > 0
}

// everything is a table that stores each data type but server_key.
var everything = func() *peers.Definition {
	d := &peers.Definition{ID: 300, Name: "/all", Key: peers.IPv6, KeyBytes: 16, Expire: time.Hour}
	rates := []peers.DataType{3, 5, 8, 10, 12, 14, 16, 18, 21, 24, 26}
	for t := range peers.DataType(27) {
		s := peers.Stored{Type: t, Elements: 1}
		if t == 19 {
			continue
		}
		if t >= 22 && t <= 24 {
			s.Elements = 100
		}
		if slices.Contains(rates, t) {
			s.Period = 10 * time.Second
		}
		d.Stored = append(d.Stored, s)
	}
	return d
}()

func TestLongMessages(t *testing.T) {
	u := &peers.Update{Table: everything, ID: 1 << 31, Timed: true, TTL: time.Minute, Key: make([]byte, 16)}
	for i := range everything.Numbers() {
		u.Numbers = append(u.Numbers, uint64(i)*12345)
	}
	b := append(peers.AppendDefinition(nil, everything), peers.AppendUpdate(nil, u)...)
	var tables peers.Tables
	var got peers.Update
	for len(b) > 0 {
		m, n, err := peers.NextMessage(b)
		if err != nil || n == 0 {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if written, err := again(&tables, m, &got); err != nil || !bytes.Equal(written, b[:n]) {
			t.Errorf("%s is written %x, it was %x: %v", m.Kind, written, b[:n], err)
		}
		b = b[n:]
	}
	got.Table = everything
	if !reflect.DeepEqual(&got, u) {
		t.Errorf("read %+v, want %+v", got, u)
	}
}

func TestEntryIsAnUpdate(t *testing.T) {
	d := &peers.Definition{ID: 1, Name: "/blocks", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPT0, Elements: 1}}, Expire: 5 * time.Minute}
	for _, tt := range []struct {
		entry peers.Entry
		ttl   time.Duration
	}{
		{peers.Entry{Key: netip.MustParseAddr("203.0.113.5"), Value: 1, TTL: time.Minute}, time.Minute},
		{peers.Entry{Key: netip.MustParseAddr("2001:db8::"), Value: 2, TTL: 1<<62 - 1}, (1<<31 - 1) * time.Millisecond},
		{peers.Entry{Key: netip.MustParseAddr("2001:db8::1"), TTL: -time.Second}, 0},
	} {
		var tables peers.Tables
		var u peers.Update
		m, n, _ := peers.NextMessage(peers.AppendDefinition(nil, d))
		if _, err := tables.Define(m); err != nil || n == 0 {
			t.Fatal(err)
		}
		m, _, _ = peers.NextMessage(peers.AppendEntry(nil, 9, tt.entry))
		if err := tables.Read(m, &u); err != nil {
			t.Fatal(err)
		}
		if u.Addr() != tt.entry.Key || u.TTL != tt.ttl || u.ID != 9 || !slices.Equal(u.Numbers, []uint64{uint64(tt.entry.Value)}) {
			t.Errorf("%+v is read as %v %v %d %v", tt.entry, u.Addr(), u.TTL, u.ID, u.Numbers)
		}
	}
}

// A newer HAProxy may store more for a key, and send more with a message.
func TestNewerVersions(t *testing.T) {
	d := &peers.Definition{ID: 1, Name: "/counts", Key: peers.IPv6, KeyBytes: 16, Stored: []peers.Stored{{Type: peers.GPC, Elements: 2}}, Expire: time.Minute}
	body := append([]byte{1, 7}, "/counts\x05\x10"...)
	body = haproxy.AppendVarint(haproxy.AppendVarint(body, 1<<23|1<<27), 60_000)
	body = append(body, 23, 2, 27, 5, 1)
	b := append([]byte{10, 130, byte(len(body))}, body...)

	var tables peers.Tables
	var u peers.Update
	m, _, err := peers.NextMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tables.Define(m)
	if err != nil || !got.Newer || got.Numbers() != 2 || got.Expire != time.Minute {
		t.Fatalf("%+v, %v", got, err)
	}
	update := peers.AppendUpdate(nil, &peers.Update{Table: d, ID: 1, Key: make([]byte, 16), Numbers: []uint64{7, 8, 99, 99}})
	m, _, _ = peers.NextMessage(update)
	if err := tables.Read(m, &u); err != nil || !slices.Equal(u.Numbers, []uint64{7, 8}) {
		t.Errorf("%v, %v", u.Numbers, err)
	}
	if m, n, err := peers.NextMessage([]byte{10, 0xfe, 2, 1, 2, 0}); err != nil || n != 5 || m.Kind.String() != "unknown kind 10, 254" {
		t.Errorf("a message of an unknown kind: %s, %d bytes, %v", m.Kind, n, err)
	}
}

func TestReadingAnUpdateAllocatesNothing(t *testing.T) {
	var tables peers.Tables
	var u peers.Update
	m, _, _ := peers.NextMessage(peers.AppendDefinition(nil, everything))
	if _, err := tables.Define(m); err != nil {
		t.Fatal(err)
	}
	b := peers.AppendUpdate(nil, &peers.Update{Table: everything, Key: make([]byte, 16), Numbers: make([]uint64, everything.Numbers())})
	if n := testing.AllocsPerRun(100, func() {
		m, _, _ := peers.NextMessage(b)
		if err := tables.Read(m, &u); err != nil || u.Addr().Is4() {
			t.Fatal(err, u.Addr())
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrorsSayWhat(t *testing.T) {
	var defined peers.Tables
	m, _, _ := peers.NextMessage(peers.AppendDefinition(nil, everything))
	if _, err := defined.Define(m); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		tables *peers.Tables
		bytes  string
		want   string
	}{
		"a message too long":        {&defined, "\x0a\x80\xff\xff\xff\x7f", "longer than 65536 bytes"},
		"a length without an end":   {&defined, "\x0a\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "longer than"},
		"the reserved class":        {&defined, "\xff\x00", "reserved class"},
		"a table without a name":    {&defined, "\x0a\x82\x06\x01\x00\x05\x10\x00\x00", "a name of 0 bytes"},
		"a table without types":     {&defined, "\x0a\x82\x05\x01\x01a\x05\x10", "ends before its data types"},
		"IPv6 keys of four bytes":   {&defined, "\x0a\x82\x07\x01\x01a\x05\x04\x00\x00", "keys of type 5 with 4 bytes"},
		"an array of 101":           {&defined, "\x0a\x82\x0c\x01\x01a\x05\x10\xf0\xf1\xff\x1e\x00\x17\x65", "not 1 to 100 elements"},
		"an array of nothing":       {&defined, "\x0a\x82\x0c\x01\x01a\x05\x10\xf0\xf1\xff\x1e\x00\x17\x00", "not 1 to 100 elements"},
		"parameters of another":     {&defined, "\x0a\x82\x0c\x01\x01a\x05\x10\xf0\xf1\xff\x1e\x00\x16\x03", "in their order"},
		"a switch to nothing":       {&defined, "\x0a\x83\x01\x05", "table 5, which was not defined"},
		"an update without a table": {&peers.Tables{}, "\x0a\x80\x04\x00\x00\x00\x01", "before the definition"},
		"an update without a key":   {&defined, "\x0a\x80\x05\x00\x00\x00\x01\x01", `table "/all": update of 5 bytes: it ends before its key`},
		"a short update":            {&defined, "\x0a\x81\x10" + strings.Repeat("\x00", 16), "ends before its last number"},
		"a short acknowledgement":   {&defined, "\x0a\x84\x02\x01\x00", "ends before the update's ID"},
	} {
		m, _, err := peers.NextMessage([]byte(tt.bytes))
		if err == nil {
			_, err = again(tt.tables, m, &peers.Update{})
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tt.want)
		}
		defined.Define(m) // an error changes nothing
	}
}

func TestTablesAreBounded(t *testing.T) {
	var tables peers.Tables
	define := func(id uint64) error {
		m, _, _ := peers.NextMessage(peers.AppendDefinition(nil, &peers.Definition{ID: id, Name: "/t", Key: peers.IPv4, KeyBytes: 4}))
		_, err := tables.Define(m)
		return err
	}
	for id := range uint64(peers.MaxTables) {
		if err := define(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := define(0); err != nil {
		t.Errorf("a table that is repeated: %v", err)
	}
	if err := define(peers.MaxTables); err == nil || !strings.Contains(err.Error(), "more than 256 tables") {
		t.Errorf("one table more: %v", err)
	}
}

func TestHello(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want peers.Hello
		n    int
		err  peers.Status
	}{
		"HAProxy's":          {in: "HAProxyS 2.1\nedgeguard\nha1 26682 1\n\x00\x00", want: peers.Hello{To: "edgeguard", From: "ha1", PID: 26682}, n: 35},
		"nothing yet":        {},
		"two lines":          {in: "HAProxyS 2.1\nedgeguard\n"},
		"half a line":        {in: "HAProxyS 2.1\nedgeguard\nha1 266"},
		"version 3.0":        {in: "HAProxyS 3.0\n", err: peers.BadVersion},
		"version 2.0":        {in: "HAProxyS 2.0\n", err: peers.BadVersion},
		"HTTP":               {in: "GET / HTTP/1.1\r\n", err: peers.BadProtocol},
		"a line too long":    {in: "HAProxyS 2.1\n" + strings.Repeat("a", 300), err: peers.BadProtocol},
		"a name too long":    {in: "HAProxyS 2.1\n" + strings.Repeat("a", 256) + "\nha1 1 1\n", err: peers.BadProtocol},
		"no process":         {in: "HAProxyS 2.1\nedgeguard\nha1\n", err: peers.BadProtocol},
		"a wrong process":    {in: "HAProxyS 2.1\nedgeguard\nha1 x 1\n", err: peers.BadProtocol},
		"a process too high": {in: "HAProxyS 2.1\nedgeguard\nha1 2147483648 1\n", err: peers.BadProtocol}, // the tally's state could not be read
		"a process too low":  {in: "HAProxyS 2.1\nedgeguard\nha1 -1 1\n", err: peers.BadProtocol},
	} {
		got, n, err := peers.ReadHello([]byte(tt.in))
		var refusal *peers.Refusal
		if errors.As(err, &refusal) != (tt.err != 0) || refusal != nil && refusal.Status != tt.err {
			t.Errorf("%s: %v, want status %v", name, err, tt.err)
		}
		if got != tt.want || n != tt.n {
			t.Errorf("%s: %+v in %d bytes, want %+v in %d", name, got, n, tt.want, tt.n)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add([]byte("HAProxyS 2.1\nedgeguard\nha1 26682 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := peers.ReadHello(b)
		if err != nil || n == 0 {
			return
		}
		again, n, err := peers.ReadHello(peers.AppendHello(nil, h))
		if again != h || n == 0 || err != nil {
			t.Errorf("%+v is read again as %+v: %v", h, again, err)
		}
	})
}

func TestStatus(t *testing.T) {
	if got := string(peers.AppendStatus(nil, peers.UnknownPeer)); got != "504\n" {
		t.Errorf("%q", got)
	}
	if got := peers.UnknownPeer.String(); !strings.HasPrefix(got, "504 (the name of the caller is not") {
		t.Error(got)
	}
}
