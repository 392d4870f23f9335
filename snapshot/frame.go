package snapshot

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	magic      = "edgeguard snap"
	version    = 1
	prologue   = len(magic) + 2
	frameHead  = 5        // kind and length
	frameTail  = 4        // crc32c
	maxPayload = 64 << 10 // of a frame
	maxRecord  = 16 << 10 // three texts and what else a block has
)

// The kinds of frames.
const (
	kindHead         = 'H'
	kindMeter        = 'M'
	kindWindow       = 'W'
	kindBlock        = 'B'
	kindStep         = 'T'
	kindPosition     = 'P'
	kindEvidence     = 'V'
	kindEnd          = 'E'
	kindDistribution = 'D'
	kindNote         = 'N'
)

// castagnoli is CRC-32C, which processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// begin makes room for a frame's head.
func begin(buf []byte) []byte { return append(buf[:0], make([]byte, frameHead)...) }

// sealFrame fills in the head of a frame and appends its checksum.
func sealFrame(kind byte, buf []byte) []byte {
	buf[0] = kind
	binary.LittleEndian.PutUint32(buf[1:], uint32(len(buf)-frameHead))
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

// tally counts records by kind.
type tally struct {
	windows, blocks, steps, positions uint64
}

func (e *encoder) tally(t tally) {
	for _, n := range []uint64{t.windows, t.blocks, t.steps, t.positions} {
		e.fixed64(n)
	}
}

func (d *decoder) tally() tally {
	return tally{d.fixed64(), d.fixed64(), d.fixed64(), d.fixed64()}
}
