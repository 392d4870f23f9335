package rules

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"edgeguard/internal/unsafetext"
)

// pathRoom is the stack that normalizing a path may take: more than nearly
// every path is long. A longer one that needs it is moved to the heap.
const pathRoom = 2048

// plainPath returns the path of a request target without its query, if it is in
// normal form already. Nearly all are, so that nearly none is copied. It
// may say no to one that is ("/.well-known/x", "/a!"), never yes to one that is not.
//
// It looks at 8 bytes at once, in steps of 7, so that every pair of neighbours is once
// in one word: for a '?', which ends the path, and before it for a byte of an escape, a
// fragment or rarer ones, and for two neighbours of '.' and '/'. The tests for bytes are
// those of Mycroft (1987): right for the lowest byte that is found, and above it at worst
// one too many.
func plainPath(target string) (path string, ok bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	if target == "" || target[0] != '/' {
		return "", false
	}
	word, bytes := beginning(target), unsafetext.Bytes(target)
	if len(target) < 8 {
		word |= 'a' * ones << (8 * len(target))
	}
	for i := 0; ; {
		query := word ^ '?'*ones
		query = (query - ones) &^ query
		odd := (word - '&'*ones) &^ word // '#' and '%' are below '&'
		dots := word | ones ^ '/'*ones   // '.' and '/' differ in their lowest bit
		dots = (dots - ones) &^ dots
		odd |= dots & (dots >> 8)
		if (query|odd)&highs != 0 {
			query &= highs
			if odd&(query&-query-1)&highs != 0 {
				return "", false
			}
			return target[:i+bits.TrailingZeros64(query)/8], true
		}
		if i += 7; i+8 > len(bytes) {
			if i+1 >= len(bytes) {
				return target, true
			}
			i = len(bytes) - 8
		}
		word = binary.LittleEndian.Uint64(bytes[i : i+8])
	}
}

// beginning returns the first 8 bytes of a text, the first as the lowest, with zeros
// after a shorter one.
func beginning(text string) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(unsafetext.Bytes(text))
	}
	var word [8]byte
	copy(word[:], text)
	return binary.LittleEndian.Uint64(word[:])
}

// ending returns the last 8 bytes of a text, the last as the lowest, with zeros before a
// shorter one.
func ending(text string) uint64 {
	text = text[max(0, len(text)-8):]
	return bits.ReverseBytes64(beginning(text)) >> (8 * (8 - len(text)) & 63)
}

// NormalPath returns a request target as rules compare it: the normal form of its path,
// without a query. It allocates only where the target is written otherwise.
func NormalPath(target string) string {
	if path, ok := plainPath(target); ok {
		return path
	}
	return string(normalPath(nil, target))
}

// normalPath appends the normal form of a request target's path to dst: an
// absolute form's scheme and authority and the query cut off, then
// percent-decoded once, then repeated slashes merged, then dot segments
// resolved (RFC 3986 section 5.2.4). It begins with a slash, and ".." at the
// root stays there. An escape that is none ("%zz") is left as it is.
//
// This is how nginx reads a path before it chooses a location (its parser of
// "complex" URIs, which also ends at "#"), so a rule sees the path that is
// served, however a client wrote it.
func normalPath(dst []byte, target string) []byte { return resolve(dst, target, '/') }

// otherPath is normalPath as Apache reads a path: it resolves dot segments
// before it reads an escaped slash as one, so that "/x%2fy/../a" is "/a" there,
// and "/x/a" for nginx.
func otherPath(dst []byte, target string) []byte {
	const mark = 0 // stands for the slash: no server takes a path with this byte
	root := len(dst)
	dst = resolve(dst, target, mark)
	for i, c := range dst[root:] {
		if c == mark {
			dst[root+i] = '/'
		}
	}
	return dst
}

// hasOther reports whether otherPath can give another path than normalPath.
func hasOther(target string) bool {
	for i := strings.IndexByte(target, '%'); i >= 0 && i+2 < len(target); i++ {
		if target[i+2]|0x20 == 'f' && target[i+1] == '2' && target[i] == '%' {
			return true
		}
	}
	return false
}

// resolve appends the normal form of a target's path, with escaped slashes as
// the given byte.
func resolve(dst []byte, target string, escaped byte) []byte {
	target = cutOrigin(pathOf(target))
	root := len(dst)
	dst = append(dst, '/')
	segment := len(dst)
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) && isHex(target[i+1]) && isHex(target[i+2]) {
			c = unhex(target[i+1])<<4 | unhex(target[i+2])
			i += 2
			if c == '/' {
				c = escaped
			}
		}
		if c != '/' {
			dst = append(dst, c)
			continue
		}
		dst = closeSegment(dst, root, segment)
		if dst[len(dst)-1] != '/' {
			dst = append(dst, '/')
		}
		segment = len(dst)
	}
	return closeSegment(dst, root, segment)
}

// closeSegment resolves the last segment of path, which begins at segment, if
// it is "." or "..". What it leaves then ends with a slash.
func closeSegment(path []byte, root, segment int) []byte {
	switch string(path[segment:]) {
	case ".":
		return path[:segment]
	case "..":
		parent := segment - 1
		for parent > root && path[parent-1] != '/' {
			parent--
		}
		return path[:max(parent, root+1)]
	}
	return path
}

// cutOrigin cuts scheme and authority off a target in absolute form, as
// clients send it to proxies and scanners to everybody. Servers take any scheme,
// and Apache and Caddy one without an authority, too ("x:/a").
func cutOrigin(target string) string {
	colon := schemeEnd(target)
	if colon < 0 {
		return target
	}
	rest, authority := target[colon+1:], 0
	if strings.HasPrefix(rest, "//") {
		authority = 2
	}
	if slash := strings.IndexByte(rest[authority:], '/'); slash == 0 || slash > 0 && authority > 0 {
		return rest[authority+slash:]
	}
	if authority > 0 {
		return "/"
	}
	return target
}

// schemeEnd returns the index of the colon after the scheme that a target begins
// with (RFC 3986 section 3.1), or -1.
func schemeEnd(target string) int {
	for i := 0; i < len(target); i++ {
		switch c := target[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return -1
		}
	}
	return -1
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}
