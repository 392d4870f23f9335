package scan

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// slowIPv4 is the definition of IPv4At: as many digits and dots as there are are a dotted
// quad, and no letter of a hexadecimal number follows.
func slowIPv4(b []byte) (addr netip.Addr, n int, ok bool) {
	for n < len(b) && (IsDigit(b[n]) || b[n] == '.') {
		n++
	}
	addr, err := netip.ParseAddr(string(b[:n]))
	if err != nil || n < len(b) && IsHex(b[n]) {
		return netip.Addr{}, 0, false
	}
	return addr, n, true
}

func checkIPv4(t *testing.T, b []byte) (ok bool) {
	t.Helper()
	addr, n, ok := IPv4At(b)
	if slow, m, want := slowIPv4(b); addr != slow || n != m || ok != want {
		t.Fatalf("%q: %v, %d, %v; want %v, %d, %v", b, addr, n, ok, slow, m, want)
	}
	slow, err := netip.ParseAddr(string(b))
	if whole, read := AddrMaybePort(b); !bytes.ContainsAny(b, ":[") && (whole != slow.Unmap().WithZone("") || read != (err == nil)) {
		t.Fatalf("%q: all of it is read as %v, want %v, %v", b, whole, slow, err)
	}
	return ok
}

func TestIPv4At(t *testing.T) {
	numbers := []string{"0", "1", "9", "10", "25", "99", "100", "199", "255", "256", "260", "300", "999", "00", "01", "012", "1000", "0255", "", "a", "/", ":", "\xb1", "1\xb2"}
	read, random := 0, rand.New(rand.NewPCG(1, 2))
	one := func() string { return numbers[random.IntN(len(numbers)-random.IntN(len(numbers)))] }
	for range 300_000 {
		b := []byte(one() + "." + one() + "." + one() + "." + one())
		b = append(b, []string{"", " ", " - - [x", ".", ".1", "a", "g", "/24", ":80 and more than that"}[random.IntN(9)]...)
		if random.IntN(8) == 0 {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		if checkIPv4(t, b[:len(b):len(b)]) {
			read++
		}
	}
	if read < 20_000 {
		t.Errorf("only %d addresses: the test shows little", read)
	}
}

func FuzzIPv4At(f *testing.F) {
	for _, seed := range []string{"192.0.2.1 - -", "255.255.255.255", "1.2.3.4a", "01.2.3.4"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkIPv4(t, b) })
}

// BenchmarkIPv4At is an address as it stands in a line.
func BenchmarkIPv4At(b *testing.B) {
	lines := make([][]byte, 1<<16)
	for i := range lines {
		a := rand.Uint32()
		lines[i] = append(netip.AddrFrom4([4]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}).AppendTo(nil), " - - [02/Jun/2026:00:00:00 +0000]"...)
	}
	for i := 0; b.Loop(); i++ {
		IPv4At(lines[i&(len(lines)-1)])
	}
}
