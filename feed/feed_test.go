package feed

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// The forms in which lists are published, with what each has beside its entries.
func TestForms(t *testing.T) {
	for name, one := range map[string]struct {
		text string
		want []string
		left Counts
	}{
		"firehol level 1, with the bogons that it holds": {
			"#\n# firehol_level1\n#\n# ipv4 hash:net ipset\n#\n# Entries : 7 subnets\n#\n0.0.0.0/8\n1.10.16.0/20\n1.19.0.0/16\n10.0.0.0/8\n100.64.0.0/10\n224.0.0.0/3\n5.188.10.7\n",
			[]string{"1.10.16.0/20", "1.19.0.0/16", "5.188.10.7/32"}, Counts{Special: 3, Wide: 1},
		},
		"spamhaus drop": {
			"; Spamhaus DROP List 2026/01/02 - (c) 2026 The Spamhaus Project SLU\r\n; Last-Modified: Fri, 02 Jan 2026 05:17:00 GMT\r\n1.10.16.0/20 ; SBL256894\r\n1.19.0.0/16 ; SBL434604\r\n",
			[]string{"1.10.16.0/20", "1.19.0.0/16"}, Counts{},
		},
		"spamhaus drop_v6.json": {
			`{"cidr":"2a06:e480::/32","sblid":"SBL301771","rir":"ripencc"}` + "\n" + `{"cidr":"2a06:e480::/29","sblid":"SBL303641"}` + "\n" +
				`{"type":"metadata","timestamp":1767312000,"size":2,"records":2,"copyright":"(c)"}` + "\n",
			[]string{"2a06:e480::/32"}, Counts{Wide: 1},
		},
		"blocklist.de, both families": {"5.6.7.8\n2a02:6b8::1\n5.6.7.8\n", []string{"5.6.7.8/32", "2a02:6b8::1/128"}, Counts{Twice: 1}},
		"tor exits":                   {"185.220.101.4\n185.220.101.5", []string{"185.220.101.4/32", "185.220.101.5/32"}, Counts{}},
		"a byte order mark, blanks and tabs": {
			"\xef\xbb\xbf5.6.7.8\t# a comment\n\n   \n\t9.9.9.0/24;x\n", []string{"5.6.7.8/32", "9.9.9.0/24"}, Counts{},
		},
		"comments behind slashes": {"// a list\n5.6.7.8 // https://example.org\n9.9.9.0/24\t//x\n5.6.7.9//24\n", []string{"5.6.7.8/32", "9.9.9.0/24"}, Counts{Unreadable: 1}},
		"what can be read in two ways, and ranges": {
			"5.6.7.8/24\n5.6.7.9-5.6.7.12\n005.6.7.8\n" + strings.Repeat("9.9.9.9\n", 30), []string{"9.9.9.9/32"}, Counts{Unreadable: 3, Twice: 29},
		},
		"special ranges, and what holds them": {
			"192.168.1.1\n192.0.0.0/16\n198.0.0.0/10\n::1\nfe80::1\nfd00::/8\n2002:a00:1::/48\n64:ff9b::a9fe:a9fe\n::ffff:5.6.7.8\n2001:db8::/32\n4000::/16\n8.8.8.8\n169.254.169.254\n255.255.255.255\n",
			[]string{"8.8.8.8/32"}, Counts{Special: 12, Wide: 1},
		},
		"all there is": {"0.0.0.0/0\n::/0\n2000::/3\n5.6.7.8\n", []string{"5.6.7.8/32"}, Counts{Wide: 3}},
		"nothing":      {"# no entries today\n", nil, Counts{}},
	} {
		r, err := Read([]byte(one.text), false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := slices.Collect(r.List.Prefixes()), prefixes(one.want...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		one.left.Entries = len(one.want)
		if r.Counts != one.left {
			t.Errorf("%s: %+v, want %+v", name, r.Counts, one.left)
		}
	}
}

// Wide admits a /8, and nothing wider.
func TestWide(t *testing.T) {
	r, err := Read([]byte("23.0.0.0/8\n22.0.0.0/7\n100.0.0.0/8\n192.0.0.0/8\n2003::/19\n2a00::/18\n2000::/19\n2001::/19\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(r.List.Prefixes()); !slices.Equal(got, prefixes("23.0.0.0/8", "2000::/19", "2003::/19")) || r.Wide != 2 || r.Special != 3 {
		t.Errorf("%v, %+v", got, r.Counts)
	}
}

// What is no list is refused with its first bad line, cleaned.
func TestNoList(t *testing.T) {
	page := "<!DOCTYPE html>\n<html><head>\x1b[31m<title>503</title>\n</head><body>\n<h1>Service unavailable</h1>\n</body></html>\n"
	for name, text := range map[string]string{
		"an error page": page, "one word": "forbidden", "an error as JSON": `{"error":"rate limited"}`, "bytes": "\x1f\x8b\x08\x00\xff\xfe",
		"a portal with an address": page + "5.6.7.8\n", "an array": `[{"cidr":"5.6.7.0/24"}]`, "a long line": strings.Repeat("5", 1<<20),
		"a table": strings.Repeat("5.6.7.0\t5.6.7.255\t24\n", 20) + "5.6.7.8\n",
	} {
		_, err := Read([]byte(text), false)
		if err == nil || !strings.Contains(err.Error(), "is not a list") || !strings.Contains(err.Error(), "line 1 is ") || strings.ContainsRune(err.Error(), '\x1b') || len(err.Error()) > 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var many bytes.Buffer
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&many, "%d.%d.%d.0/24\n", 11+i>>16, i>>8&255, i&255)
	}
	if _, err := Read(many.Bytes(), false); err == nil || !strings.Contains(err.Error(), "more than 1000000") {
		t.Errorf("too many: %v", err)
	}
}

func TestJudge(t *testing.T) {
	list := func(from, to int) *List {
		var all []netip.Prefix
		for i := from; i < to; i++ {
			all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{5, 6, byte(i >> 8), byte(i)}), 32))
		}
		return newList(all)
	}
	for name, one := range map[string]struct {
		good, next *List
		want       string
	}{
		"first":                   {nil, list(0, 100), ""},
		"first, empty":            {nil, list(0, 0), "is empty"},
		"first, too many":         {nil, list(0, 151), "has 151 entries, more than the 150 of `most`"},
		"the same":                {list(0, 100), list(0, 100), ""},
		"the same, and confirmed": {list(0, 200), list(0, 200), ""},
		"still empty":             {list(0, 0), list(0, 0), ""},
		"emptied":                 {list(0, 100), list(0, 0), "is empty"},
		"from nothing":            {list(0, 0), list(0, 10), ""},
		"half gone":               {list(0, 100), list(0, 50), ""},
		"more than half gone":     {list(0, 100), list(0, 49), "has moved by more than half: of 100 entries, 51 are gone and 0 are new"},
		"half new":                {list(0, 100), list(0, 150), ""},
		"a quarter exchanged":     {list(0, 100), list(25, 125), ""},
		"a third exchanged":       {list(0, 99), list(33, 132), "has moved by more than half: of 99 entries, 33 are gone and 33 are new"},
		"grown over its size":     {list(0, 100), list(0, 151), "has 151 entries, more than the 150 of `most`"},
	} {
		if got := Judge(one.good, one.next, 150); got != one.want {
			t.Errorf("%s: %q, want %q", name, got, one.want)
		}
	}
}

// A list is judged by the addresses that it names, too: some entries can name more than
// all others.
func TestJudgeReach(t *testing.T) {
	few := func(n, bits int, more ...string) *List {
		list := prefixes(more...)
		for i := range n {
			list = append(list, netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(20 + i>>8), byte(i), 0, 0}), bits))
		}
		return newList(list)
	}
	for name, one := range map[string]struct {
		good, next *List
		want       string
	}{
		"all of IPv4, first":           {nil, few(65_536, 16), "a quarter"},
		"a quarter, first":             {nil, few(16_384, 16), ""},
		"and one more":                 {nil, few(16_385, 16), "a quarter"},
		"one more than was confirmed":  {few(20_000, 16), few(20_001, 16), ""},
		"all of IPv6":                  {nil, newList(prefixes("2000::/4", "3000::/4")), "a quarter"},
		"networks among addresses":     {few(1000, 32), few(1000, 32, "23.0.0.0/12", "23.16.0.0/16"), "has moved by more than half: of 1,000 addresses of IPv4 that it names, 0 are gone and 1,114,095 are new"},
		"few of them":                  {few(1000, 32), few(1000, 32, "23.0.0.0/12"), ""},
		"let go":                       {few(100, 24, "23.0.0.0/8"), few(100, 24), "addresses of IPv4 that it names"},
		"in others by the same length": {few(100, 24, "23.0.0.0/12", "30.0.0.0/12"), few(100, 24, "24.0.0.0/12", "31.0.0.0/12"), "addresses of IPv4 that it names"},
		"written otherwise":            {few(100, 24, "23.0.0.0/9", "23.128.0.0/9"), few(100, 24, "23.0.0.0/8"), ""},
		"networks of IPv6":             {few(100, 32, "2a00::/64"), few(100, 32, "2a00::/64", "2a01::/27"), "137,438,953,472 are new"},
	} {
		got := Judge(one.good, one.next, 100_000)
		if one.want == "" && got != "" || !strings.Contains(got, one.want) {
			t.Errorf("%s: %q, want %q", name, got, one.want)
		}
	}
}

// What lists cover together against a set of addresses.
func TestReachAgainstSet(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 52))
	for range 500 {
		covered := map[netip.Addr]bool{}
		draw := func() (some []netip.Prefix) {
			for range r.IntN(12) {
				p := netip.PrefixFrom(netip.AddrFrom4([4]byte{5, 6, 7, byte(r.IntN(64))}), 26+r.IntN(7)).Masked()
				if r.IntN(2) == 0 {
					p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x2a, 7: byte(r.IntN(64)), 15: byte(r.IntN(3))}), 58+r.IntN(7)).Masked()
					if r.IntN(3) == 0 {
						p = netip.PrefixFrom(netip.AddrFrom16([16]byte{0x2a, 7: byte(r.IntN(64)), 15: byte(r.IntN(3))}), 128)
					}
				}
				some = append(some, p)
				for i := range 64 {
					for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{5, 6, 7, byte(i)}), netip.AddrFrom16([16]byte{0x2a, 7: byte(i)})} {
						if p.Contains(a) || p.Bits() > 64 && netip.PrefixFrom(p.Addr(), 64).Contains(a) {
							covered[a] = true
						}
					}
				}
			}
			return some
		}
		a, b := draw(), draw()
		var want reach
		for addr := range covered {
			if addr.Is4() {
				want.v4++
			} else {
				want.v6++
			}
		}
		if got := reachOf(newList(slices.Clone(a)), newList(slices.Clone(b))); got != want {
			t.Fatalf("%v and %v: %+v, want %+v", a, b, got, want)
		}
	}
}

// Lists against a map of their prefixes.
func TestListAgainstMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func() (all []netip.Prefix, set map[netip.Prefix]bool) {
		set = map[netip.Prefix]bool{}
		for range r.IntN(40) {
			b := [16]byte{0x20, byte(r.IntN(3)), 15: byte(r.IntN(2))}
			p := netip.PrefixFrom(netip.AddrFrom16(b), 8*r.IntN(17)).Masked()
			if r.IntN(2) == 0 {
				p = netip.PrefixFrom(netip.AddrFrom4([4]byte(b[:4])), 8*r.IntN(5)).Masked()
			}
			all, set[p] = append(all, p), true
		}
		return all, set
	}
	for range 2000 {
		a, inA := draw()
		b, inB := draw()
		one, two := newList(a), newList(b)
		added, gone := 0, 0
		for p := range inB {
			if !inA[p] {
				added++
			}
		}
		for p := range inA {
			if !inB[p] {
				gone++
			}
		}
		if x, y := one.Changes(two); x != added || y != gone || one.Len() != len(inA) {
			t.Fatalf("%v to %v: %d added, %d gone, want %d, %d", a, b, x, y, added, gone)
		}
		for p := range one.Prefixes() {
			if !inA[p] {
				t.Fatalf("%v has %v", a, p)
			}
		}
		again, err := unpackAll(one.packed)
		if err != nil || again.Len() != one.Len() {
			t.Fatalf("%v: %v", a, err)
		}
	}
}

func TestKept(t *testing.T) {
	k := &Kept{
		List: newList(prefixes("5.6.7.0/24", "2a02:6b8::1/128")), Source: "https://lists.example.org/drop", Wide: true,
		Good: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ETag: `"x"`, Modified: "Fri, 02 Jan 2026 05:17:00 GMT", Counts: Counts{Entries: 2, Special: 3},
	}
	b, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(bytes.Clone(b))
	if err != nil || got.Source != k.Source || !got.Wide || !got.Good.Equal(k.Good) || got.ETag != k.ETag || got.Modified != k.Modified || got.Counts != k.Counts {
		t.Fatalf("%+v, %v", got, err)
	}
	if !slices.Equal(slices.Collect(got.List.Prefixes()), slices.Collect(k.List.Prefixes())) {
		t.Errorf("%v", slices.Collect(got.List.Prefixes()))
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := Unmarshal(bad); !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := Unmarshal(b[:i]); !errors.Is(err, errDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestPause(t *testing.T) {
	for _, one := range []struct {
		failures int
		asked    time.Duration
		random   float64
		want     time.Duration
	}{
		{0, 0, 0, time.Hour}, {0, 0, 1, 66 * time.Minute}, {1, 0, 0, time.Minute}, {2, 0, 0.5, 126 * time.Second}, {6, 0, 0, 32 * time.Minute}, {7, 0, 0, time.Hour},
		{1 << 40, 0, 0, time.Hour}, {1, 10 * time.Minute, 0, 10 * time.Minute}, {1, time.Second, 0, time.Minute}, {3, 1 << 62, 0, 24 * time.Hour}, {0, 2 * time.Hour, 0, 2 * time.Hour},
	} {
		if got := Pause(time.Hour, one.failures, one.asked, one.random); got != one.want {
			t.Errorf("%+v: %v", one, got)
		}
	}
}

func TestSpecial(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "169.254.169.254": true, "100.100.100.200": true, "10.1.2.3": true, "::1": true, "fd00:ec2::254": true, "::ffff:8.8.8.8": true,
		"2002:7f00:1::1": true, "64:ff9b::7f00:1": true, "ff02::1": true, "::": true, "0.0.0.0": true, "fec0::1": true, "::7f00:1": true,
		"8.8.8.8": false, "2a02:6b8::1": false, "172.32.0.1": false, "100.128.0.1": false,
	} {
		if got := Special(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Whatever a list has, no entry is special or too wide, and what is kept of it is read
// back.
func FuzzRead(f *testing.F) {
	f.Add([]byte("5.6.7.8\n10.0.0.0/8 ; x\n0.0.0.0/0\n# y\n2a02::/32\n"), false)
	f.Add([]byte(`{"cidr":"5.6.7.0/24"}`+"\n"+`{"type":"metadata"}`), true)
	f.Add([]byte("\xef\xbb\xbf<html>\r\n::ffff:1.2.3.4\n1.2.3.4%eth0\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		r, err := Read(data, wide)
		if err != nil {
			if len(err.Error()) > 500 {
				t.Errorf("long: %v", err)
			}
			return
		}
		for p := range r.List.Prefixes() {
			if Special(p.Addr()) || overlaps(p) || r.tooWide(p) || p != p.Masked() {
				t.Errorf("%v", p)
			}
		}
		b, err := (&Kept{List: r.List}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if k, err := Unmarshal(b); err != nil || !slices.Equal(k.List.packed, r.List.packed) || k.List.Len() != r.Entries {
			t.Errorf("%v", err)
		}
	})
}

// No bytes on disk do more than fail.
func FuzzUnmarshal(f *testing.F) {
	b, err := (&Kept{List: newList(prefixes("5.6.7.0/24", "2a02:6b8::1/128"))}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[len(keptMagic)+4 : len(b)-32])
	f.Add([]byte{32, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = Unmarshal(data)
		l, err := unpackAll(data)
		if err == nil && !slices.Equal(newList(slices.Collect(l.Prefixes())).packed, data) {
			t.Errorf("%x is read as another list", data)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d.%d.%d.0/24 ; SBL%d\n", 11+i>>16, i>>8&255, i&255, i)
	}
	for b.Loop() {
		if r, err := Read(text.Bytes(), false); err != nil || r.Entries != 100_000 {
			b.Fatal(err)
		}
	}
}
