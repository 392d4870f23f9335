package packet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
)

// SniffSize is how much of a file's beginning [Sniff] needs, to see through
// gzip too.
const SniffSize = 4096

// format is what a file begins like.
type format uint8

const (
	formatNone format = iota
	formatPcap
	formatPcapng
)

// Sniff reports whether a file that begins with head is a capture, gzipped or
// not. Four bytes are enough for a pcap, twelve for a pcapng.
func Sniff(head []byte) bool {
	if isGzip(head) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return false
		}
		var inside [12]byte
		n, _ := io.ReadFull(z, inside[:]) // head is cut off, so is what it holds
		head = inside[:n]
	}
	return sniff(head) != formatNone
}

func sniff(head []byte) format {
	if len(head) < 4 {
		return formatNone
	}
	first := binary.LittleEndian.Uint32(head)
	if isPcapMagic(first) || isPcapMagic(binary.BigEndian.Uint32(head)) {
		return formatPcap
	}
	if first != blockSection || len(head) < 12 {
		return formatNone
	}
	if binary.LittleEndian.Uint32(head[8:]) == byteOrderMagic || binary.BigEndian.Uint32(head[8:]) == byteOrderMagic {
		return formatPcapng
	}
	return formatNone
}

func isGzip(head []byte) bool {
	return len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b
}
