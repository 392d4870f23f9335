package scan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"

	"edgeguard/internal/unsafetext"
)

// AddrAt reads the address at the start of b, unmapped and without its zone,
// and returns its length. Forms that mean different addresses to different
// programs (010.1.1.1, 127.1, 0x7f000001) are refused.
func AddrAt(b []byte) (addr netip.Addr, n int, ok bool) {
	if addr, n, ok = IPv4At(b); ok {
		return addr, n, ok
	}
	n = 0
	for n < len(b) && n < maxAddr && (IsHex(b[n]) || b[n] == ':' || b[n] == '.') {
		n++
	}
	end := n
	if n > 0 && n < len(b) && b[n] == '%' { // a zone: fe80::1%eth0
		for end++; end < len(b) && end < n+maxZone && IsAlnum(b[end]); end++ {
		}
	}
	addr, ok = parseIPv6(b[:n])
	return addr, end, ok
}

const (
	maxAddr = 45 // 0000:0000:0000:0000:0000:ffff:255.255.255.255
	maxZone = 32
)

// IPv4At reads a dotted quad. It is apart from netip.ParseAddr because nearly every line
// has one. Where its numbers end is found for all of it at once: a loop over the digits
// waits for each end, which no processor foresees.
func IPv4At(b []byte) (addr netip.Addr, n int, ok bool) {
	var quad [4]byte
	var short [20]byte
	if len(b) < len(short) { // at the end of a text
		copy(short[:], b)
		b = short[:]
	}
	text := (*[len(short)]byte)(b)
	stops := nonDigits(binary.LittleEndian.Uint64(text[:])) | nonDigits(binary.LittleEndian.Uint64(text[8:]))<<8 | 1<<16
	start := 0
	for i := range quad {
		end := bits.TrailingZeros64(stops) & 31
		stops &= stops - 1
		size := end - start
		digits := binary.LittleEndian.Uint32(text[start&15:]) ^ 0x30303030
		number := bits.ReverseBytes32(digits << (-8 * size & 31)) // a byte for each of up to three digits
		if size < 1 || size > 3 || number > 0x020505 || size > 1 && digits&0xff == 0 || i < 3 && text[end] != '.' {
			return addr, 0, false
		}
		quad[i] = byte(number>>16*100 + number>>8&0xff*10 + number&0xff)
		n, start = end, end+1
	}
	if c := text[n]; IsHex(c) || c == '.' {
		return addr, 0, false
	}
	return netip.AddrFrom4(quad), n, true
}

// nonDigits returns a bit for each of eight bytes that is no digit.
func nonDigits(b uint64) uint64 {
	const ones = 0x0101010101010101
	b ^= '0' * ones
	b = (b&(0x7f*ones) + (0x80-10)*ones | b) >> 7 & ones
	return b * 0x0102040810204080 >> 56 // gathers them
}

// parseAddr reads an address that is all of b.
func parseAddr(b []byte) (netip.Addr, bool) {
	if addr, n, ok := IPv4At(b); ok && n == len(b) {
		return addr, true
	}
	return parseIPv6(b)
}

// parseIPv6 reads an address that is no dotted quad. Without a colon it is none: netip would make an error of
// each such word, as of the month before each line of a syslog daemon.
func parseIPv6(b []byte) (netip.Addr, bool) {
	if bytes.IndexByte(b, ':') < 0 {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(unsafetext.String(b))
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.WithZone("").Unmap(), true
}

// AddrMaybePort reads an address that is all of b and may have a port:
// 192.0.2.1:80, [2001:db8::1]:80. An IPv6 address with a port and without
// brackets is read by [AddrWithPort] only, where the format says a port is there.
func AddrMaybePort(b []byte) (netip.Addr, bool) {
	if addr, n, ok := IPv4At(b); ok && n == len(b) {
		return addr, true
	}
	if len(b) > 1 && b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 || end+1 < len(b) && b[end+1] != ':' {
			return netip.Addr{}, false
		}
		return parseAddr(b[1:end])
	}
	if bytes.Count(b, []byte{':'}) == 1 {
		return AddrWithPort(b)
	}
	return parseIPv6(b)
}

// AddrWithPort reads an address that is followed by its last colon and a port.
func AddrWithPort(b []byte) (netip.Addr, bool) {
	colon := bytes.LastIndexByte(b, ':')
	if colon < 0 {
		return netip.Addr{}, false
	}
	host, port := b[:colon], b[colon+1:]
	if _, digits := Digits(port, 5); digits == 0 || digits < len(port) {
		return netip.Addr{}, false
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return parseAddr(host)
}

// AddrOrNumber reads an address, or an IPv4 address as a decimal number.
func AddrOrNumber(b []byte) (netip.Addr, bool) {
	v, digits := uint64(0), 0
	for digits < len(b) && digits <= 10 && IsDigit(b[digits]) {
		v = v*10 + uint64(b[digits]-'0')
		digits++
	}
	if digits == 0 || digits < len(b) {
		return AddrMaybePort(b)
	}
	if v > math.MaxUint32 || digits > 1 && b[0] == '0' {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// WhyNoAddr looks at what stands where a line should have an address.
func WhyNoAddr(b []byte) Reason {
	word, _, _ := bytes.Cut(b, []byte{' '})
	letters := false
	for _, c := range word {
		if !IsAlnum(c) && c != '.' && c != '-' && c != '_' {
			if HasPrefix(word, "unix:") {
				return UnixSocket
			}
			return NotTheFormat
		}
		letters = letters || (c|0x20)-'a' < 26
	}
	if letters && bytes.IndexByte(word, '.') > 0 {
		return HostName
	}
	return BadAddr
}
