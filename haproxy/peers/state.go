package peers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"net/netip"
	"slices"
	"time"

	"edgeguard/haproxy"
)

// stateHead begins a state. Its last byte is the version.
const stateHead = "edgeguard-tally\x02"

// Flags of an entry in a state.
const (
	isLong    = 1 << iota // its key has 16 bytes, else it is an IPv4 address
	isSeen                // in this run
	isSettled             // it was seen after the other process had ended
)

// Append returns b with the state of the tally at its end. Whoever goes on
// from a state that is older than the saved counts counts twice. offset is what the wall clock is ahead of the tally's times.
func (t *Tally) Append(b []byte, offset time.Duration) []byte {
	start := len(b)
	b = append(b, stateHead...)
	t.mu.Lock()
	sources := maps.Clone(t.sources)
	t.mu.Unlock()
	b = haproxy.AppendVarint(b, uint64(len(sources)))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		b = appendText(b, name)
		b = sources[name].append(b, offset)
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

func (src *source) append(b []byte, offset time.Duration) []byte {
	src.mu.Lock()
	defer src.mu.Unlock()
	b = haproxy.AppendVarint(b, uint64(src.pid))
	for _, at := range []time.Time{src.upTo, src.handoverEnds, src.handed, src.lived} {
		b = appendTime(b, at, offset)
	}
	b = append(b, bit(src.several))
	b = haproxy.AppendVarint(b, uint64(len(src.recent)))
	for _, e := range src.recent {
		b = appendTime(appendTime(b, e.from, offset), e.until, offset)
	}
	b = haproxy.AppendVarint(b, uint64(len(src.retired)))
	for _, r := range src.retired {
		b = appendTime(haproxy.AppendVarint(b, uint64(r.pid)), r.at, offset)
	}
	b = haproxy.AppendVarint(b, uint64(len(src.tables)))
	for _, name := range slices.Sorted(maps.Keys(src.tables)) {
		b = appendText(b, name)
		b = src.tables[name].append(b)
	}
	return b
}

func (t *countTable) append(b []byte) []byte {
	b = haproxy.AppendVarint(b, uint64(t.columns))
	b = append(b, bit(t.warm && !t.hasDropped()), bit(t.low != nil))
	b = haproxy.AppendVarint(b, uint64(len(t.entries)))
	for i := t.oldest; i != none; i = t.entries[i].newer {
		e := &t.entries[i]
		addr := netip.AddrFrom16(e.key)
		flags := bit(!addr.Is4In6()) | bit(e.run == t.run)<<1 | bit(e.settled == t.run)<<2
		b = append(b, flags)
		b = append(b, e.key[16-keyBytes(flags):]...)
		b = appendRow(b, t.valuesOf(t.last, i))
		if t.low != nil {
			b = appendRow(appendRow(b, t.valuesOf(t.low, i)), t.valuesOf(t.high, i))
		}
	}
	return b
}

func keyBytes(flags byte) int {
	if flags&isLong != 0 {
		return 16
	}
	return 4
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendRow(b []byte, row []uint32) []byte {
	for _, v := range row {
		b = haproxy.AppendVarint(b, uint64(v))
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(haproxy.AppendVarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time, offset time.Duration) []byte {
	if t.IsZero() {
		return haproxy.AppendVarint(b, 0)
	}
	return haproxy.AppendVarint(b, uint64(max(t.Add(offset).UnixMilli(), 1)))
}

// errState is why a state is not read.
var errState = errors.New("the state of HAProxy's counters is damaged or of another version: what HAProxy counted before the start is not counted")

// ReadTally returns the tally of a state, with room for so many keys in each table. Of
// tables with more, the newest keys are read. Its times are by the wall clock.
func ReadTally(b []byte, keys int) (*Tally, error) {
	body := len(b) - crc32.Size
	if body < len(stateHead) || string(b[:len(stateHead)]) != stateHead || crc32.ChecksumIEEE(b[:body]) != binary.BigEndian.Uint32(b[body:]) {
		return nil, errState
	}
	r := &stateReader{b: b[len(stateHead):body]}
	t := NewTally(keys)
	for range r.number(mostSources) {
		name := r.text()
		src := &source{keys: t.keys, space: t.space, tables: map[string]*countTable{}}
		src.read(r)
		if t.sources[name] != nil {
			r.bad = true
		}
		t.sources[name] = src
	}
	if r.bad || len(r.b) > 0 {
		return nil, fmt.Errorf("%w (%d bytes are left)", errState, len(r.b))
	}
	return t, nil
}

func (src *source) read(r *stateReader) {
	src.pid = int(r.number(1 << 31))
	src.upTo, src.handoverEnds, src.handed, src.lived = r.time(), r.time(), r.time(), r.time()
	src.several = r.byte() == 1
	for range r.number(mostRecent) {
		src.recent = append(src.recent, ending{r.time(), r.time()})
	}
	for range r.number(pids) {
		src.retired = append(src.retired, retired{int(r.number(1 << 31)), r.time()})
	}
	for range r.number(tablesOfOne) {
		name := r.text()
		columns := int(r.number(maxElements))
		warm, inHandover := r.byte() == 1, r.byte() == 1
		if r.bad || columns == 0 || src.tables[name] != nil {
			r.bad = true
			return
		}
		t := newTable(columns, src.keys, src.space, inHandover)
		t.warm = warm
		t.read(r)
		src.tables[name] = t
	}
}

func (t *countTable) read(r *stateReader) {
	n := r.number(uint64(len(r.b)))
	var stats TallyStats
	for left := n; left > 0 && !r.bad; left-- {
		flags := r.byte()
		addr, _ := netip.AddrFromSlice(r.take(keyBytes(flags)))
		rows := [3][]uint32{r.row(t.columns)}
		if t.low != nil {
			rows[1], rows[2] = r.row(t.columns), r.row(t.columns)
		}
		if r.bad || left > uint64(t.keys) {
			t.warm = false // which keys are missing is not known
			continue
		}
		i, known := t.enter(addr.As16(), &stats)
		r.bad = known
		t.entries[i].run = t.run
		if flags&isSeen == 0 {
			t.entries[i].run--
		}
		if flags&isSettled != 0 {
			t.entries[i].settled = t.run
		}
		copy(t.valuesOf(t.last, i), rows[0])
		if t.low != nil {
			copy(t.valuesOf(t.low, i), rows[1])
			copy(t.valuesOf(t.high, i), rows[2])
		}
	}
}

// stateReader reads a state. After what it cannot read, bad is set and all is zero.
type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *stateReader) byte() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *stateReader) number(most uint64) uint64 {
	v, n := haproxy.ReadVarint(r.b)
	if n <= 0 || v > most {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *stateReader) text() string { return string(r.take(int(r.number(maxName)))) }

func (r *stateReader) time() time.Time {
	if ms := r.number(1 << 48); ms > 0 {
		return time.UnixMilli(int64(ms))
	}
	return time.Time{}
}

func (r *stateReader) row(columns int) []uint32 {
	row := make([]uint32, columns)
	for c := range row {
		row[c] = uint32(r.number(1<<32 - 1))
	}
	return row
}
