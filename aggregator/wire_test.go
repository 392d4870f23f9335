package aggregator

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"slices"
	"testing"
)

func TestKeyForms(t *testing.T) {
	for _, c := range []struct {
		key  Key
		want string
	}{
		{Key{Meter: 0x0102, Prefix: netip.MustParsePrefix("203.0.113.45/32")}, "000000000000010220cb00712d"},
		{Key{Meter: 1, Prefix: netip.MustParsePrefix("203.0.113.0/24"), With: 0xff}, "000000000000000118cb00710000000000000000ff"},
		{Key{Meter: 1, Prefix: netip.MustParsePrefix("2001:db8::/64")}, "00000000000000014020010db8000000000000000000000000"},
		{Key{Meter: 1, Prefix: netip.MustParsePrefix("::/0"), With: 1}, "000000000000000100000000000000000000000000000000000000000000000001"},
	} {
		b := c.key.Append(nil)
		if got := hex.EncodeToString(b); got != c.want {
			t.Errorf("%v: %s, want %s", c.key, got, c.want)
		}
		if back, err := ParseKey(b); err != nil || back != c.key {
			t.Errorf("%s: %v, %v", c.want, back, err)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for _, s := range []string{
		"", "00", "0000000000000001" + "21cb00712d", // /33
		"0000000000000001" + "18cb00712d",                              // host bits
		"0000000000000001" + "20cb00712d" + "0000000000000000",         // attributes of 0
		"0000000000000001" + "80" + "00000000000000000000ffffcb00712d", // mapped
	} {
		b, _ := hex.DecodeString(s)
		if k, err := ParseKey(b); err == nil {
			t.Errorf("%s: %v", s, k)
		}
	}
}

func TestPartitionsSpread(t *testing.T) {
	var n [16]int
	for i := range 1600 {
		k := Key{Meter: 1, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)}
		n[k.Partition(len(n))]++
	}
	if slices.Min(n[:]) < 50 || slices.Max(n[:]) > 170 {
		t.Errorf("1600 keys over 16: %v", n)
	}
}

func TestNodeID(t *testing.T) {
	if NodeID("a", "b") == NodeID("a", "c") || NodeID("a", "b") == NodeID("b", "b") {
		t.Error("name and boot are not both in the id")
	}
}

func TestAnswers(t *testing.T) {
	want := []Answer{{Status: StatusSendFull | StatusCleared, Peak: 1, Total: 2, ClearedBefore: 3}, {Peak: 1 << 31}}
	var b []byte
	for _, a := range want {
		b = a.Append(b)
	}
	got, err := DecodeAnswers(string(b), 2)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, n := range []int{0, 1, 3} {
		if _, err := DecodeAnswers(string(b), n); err == nil {
			t.Errorf("two answers read as %d: no error", n)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(Key{Meter: 1, Prefix: netip.MustParsePrefix("203.0.113.45/32")}.Append(nil))
	f.Add(Key{Meter: 1, Prefix: netip.MustParsePrefix("2001:db8::/64"), With: 7}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, err := ParseKey(b); err == nil && !bytes.Equal(k.Append(nil), b) {
			t.Fatalf("%x became %v", b, k)
		}
	})
}
