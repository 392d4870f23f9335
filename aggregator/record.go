package aggregator

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
)

// The wire form of a record. Integers are big-endian and strings end in a NUL,
// so that byte order is the order by which the block list chooses between two
// records of one prefix.
const (
	// MaxRecord is the most bytes that a block record takes in Redis, and
	// MaxString the most of each of its strings.
	MaxRecord = 1024
	MaxString = 255

	recordFormat = 1
	recordHead   = 1 + 8 + 1 + 8 + 1 + 8 // format, version, allow, until, lifted, since
	recordTail   = 4 + 4 + 1 + 1 + 4     // count or batch, limit, forced, proxied, retention
	recordOrder  = 8 + 1 + 8 + 1         // version to lifted, which mostly decide
	recordLeast  = recordHead + 3 + recordTail
)

// Record is a block or an allowance as the fleet keeps it.
type Record struct {
	Block edgeguard.Block
	// Forced says that the operator used force: the prefix may be wide or
	// protected.
	Forced bool
	// Retention is how long after the block's Until the record is kept, in whole
	// seconds.
	Retention time.Duration
}

// Encode returns the record's wire form, which does not include the prefix.
// Times outside 1970 to 2262 (64 bits of unix nanoseconds) are an error, as are
// strings that are too long or that [safetext.Clean] refuses.
func (r *Record) Encode() (string, error) {
	b := &r.Block
	since, until := b.Since.UnixNano(), b.Until.UnixNano()
	if !b.Since.Equal(time.Unix(0, since)) || !b.Until.Equal(time.Unix(0, until)) || since < 0 || until < 0 {
		return "", fmt.Errorf("block of %s from %s to %s: not between 1970 and 2262", b.Prefix, b.Since, b.Until)
	}
	if r.Retention < 0 || r.Retention/time.Second > math.MaxUint32 {
		return "", fmt.Errorf("block of %s: retention %s", b.Prefix, r.Retention)
	}
	out := make([]byte, 0, recordLeast+len(b.Rule)+len(b.Origin)+len(b.Reason))
	out = append(out, recordFormat)
	out = binary.BigEndian.AppendUint64(out, b.Version)
	out = append(out, oneIf(b.Allow))
	out = binary.BigEndian.AppendUint64(out, uint64(until))
	out = append(out, oneIf(b.Lifted))
	out = binary.BigEndian.AppendUint64(out, uint64(since))
	for _, s := range []string{b.Rule, b.Origin, b.Reason} {
		if len(s) > MaxString || !safetext.Clean(s) {
			return "", fmt.Errorf("block of %s: %q is over %d bytes or contains control characters", b.Prefix, s, MaxString)
		}
		out = append(append(out, s...), 0)
	}
	out = binary.BigEndian.AppendUint32(out, b.Marked())
	out = binary.BigEndian.AppendUint32(out, b.Limit)
	out = append(out, oneIf(r.Forced), oneIf(b.Proxied))
	return string(binary.BigEndian.AppendUint32(out, uint32(r.Retention/time.Second))), nil
}

// DecodeRecord reads what [Record.Encode] wrote, and the prefix beside it. It
// refuses what Encode would not have written, so that equal records have equal
// forms. Its errors wrap [ErrWrong] or [ErrNewer].
func DecodeRecord(prefix, record string) (Record, error) {
	var r Record
	p, err := netip.ParsePrefix(prefix)
	if err != nil || !canonical(p) || p.String() != prefix {
		return r, wrong(fmt.Errorf("record of %.60q: not a canonical prefix", prefix))
	}
	if len(record) < recordLeast || len(record) > MaxRecord {
		return r, wrong(fmt.Errorf("record of %s has %d bytes: not %d to %d", p, len(record), recordLeast, MaxRecord))
	}
	b := []byte(record)
	switch {
	case b[0] > recordFormat:
		return r, flaw{fmt.Errorf("record of %s has format %d: this version reads %d: upgrade this node", p, b[0], recordFormat), ErrNewer}
	case b[0] < recordFormat:
		return r, wrong(fmt.Errorf("record of %s has format %d: not %d", p, b[0], recordFormat))
	}
	if err := r.decode(b); err != nil {
		return Record{}, wrong(fmt.Errorf("record of %s: %w", p, err))
	}
	r.Block.Prefix = p
	return r, nil
}

func (r *Record) decode(b []byte) error {
	until, since := binary.BigEndian.Uint64(b[10:]), binary.BigEndian.Uint64(b[19:])
	if until > math.MaxInt64 || since > math.MaxInt64 {
		return errors.New("time after 2262")
	}
	var flags [4]bool
	r.Block = edgeguard.Block{
		Version: binary.BigEndian.Uint64(b[1:]),
		Until:   time.Unix(0, int64(until)).UTC(),
		Since:   time.Unix(0, int64(since)).UTC(),
	}
	rest := b[recordHead:]
	for _, s := range []*string{&r.Block.Rule, &r.Block.Origin, &r.Block.Reason} {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || end > MaxString {
			return errors.New("string without an end")
		}
		*s, rest = string(rest[:end]), rest[end+1:]
		if !safetext.Clean(*s) {
			return fmt.Errorf("%q contains control characters", *s)
		}
	}
	if len(rest) != recordTail {
		return fmt.Errorf("%d bytes after the strings: not %d", len(rest), recordTail)
	}
	for i, x := range []byte{b[9], b[18], rest[8], rest[9]} {
		if x > 1 {
			return fmt.Errorf("flag of %d: not 0 or 1", x)
		}
		flags[i] = x == 1
	}
	r.Block.Allow, r.Block.Lifted, r.Forced, r.Block.Proxied = flags[0], flags[1], flags[2], flags[3]
	r.Block.Unmark(binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]))
	r.Retention = time.Duration(binary.BigEndian.Uint32(rest[10:])) * time.Second
	return nil
}

// RecordEnd returns the unix second from which on a record may be forgotten:
// its until, rounded down, plus the retention. It is 0 for an invalid record.
func RecordEnd(record string) int64 {
	if len(record) < recordLeast {
		return 0
	}
	until := binary.BigEndian.Uint64([]byte(record[10:18]))
	return int64(until/1e9) + int64(binary.BigEndian.Uint32([]byte(record[len(record)-4:])))
}

// RecordHash returns what a record adds to the digest, which is the XOR of all:
// the first eight bytes of the SHA-1 of prefix and record.
func RecordHash(prefix, record string) uint64 {
	sum := sha1.Sum([]byte(prefix + record))
	return binary.BigEndian.Uint64(sum[:])
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}
