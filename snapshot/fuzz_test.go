package snapshot

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"edgeguard"
)

// FuzzRead reads anything, as it is and with its checksums put right: it is
// passed on whole or not at all.
func FuzzRead(f *testing.F) {
	data := small().bytes(f)
	f.Add(data, false)
	f.Add(data, true)
	f.Add(data[prologue:], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, data []byte, mend bool) {
		if mend {
			data = mended(data)
		}
		records := 0
		sink := Sink{
			Meter:        func(Meter) func(*Window) { records++; return func(*Window) { records++ } },
			Block:        func(*Block) { records++ },
			Step:         func(Step) { records++ },
			Position:     func(Position) { records++ },
			Evidence:     func(*edgeguard.Evidence) { records++ },
			Distribution: func(Distribution) { records++ },
			Note:         func([]byte) { records++ },
		}
		l, err := readTwice(bytes.NewReader(data), noon, &sink)
		if err != nil && records > 0 {
			t.Errorf("%d records of a file that is refused: %v", records, err)
		}
		if err == nil && l.Windows+l.Blocks+l.Steps+l.Positions > records {
			t.Errorf("%d records were handed over, not %+v", records, l)
		}
		if err != nil && !unusable(err) {
			t.Errorf("the error %v leaves the file where it is", err)
		}
	})
}

// mended takes what comes as kinds, lengths and payloads, and makes a file of
// it in which nothing but the records can be wrong.
func mended(data []byte) []byte {
	data = bytes.TrimPrefix(data, forge())
	frames := [][]byte{head()}
	for len(data) > frameHead && len(frames) < 20 {
		kind, size := data[0], int(binary.LittleEndian.Uint32(data[1:])%maxPayload)
		data = data[frameHead:]
		size = min(size, len(data))
		if kind != kindHead && kind != kindEnd && size > 0 {
			frames = append(frames, frame(kind, data[:size]...))
		}
		data = data[min(size+frameTail, len(data)):]
	}
	// Read once for the numbers of records.
	r := newReader(bytes.NewReader(forge(frames...)))
	_, _ = r.readRecords(&handover{sink: &Sink{}})
	return forge(append(frames, ending(r.count, frames...))...)
}

// FuzzRecord: what is read as a record is written as one that reads the same.
func FuzzRecord(f *testing.F) {
	var e encoder
	s := small()
	e.window(&s.meters[0].windows[0], 0)
	f.Add(byte(kindWindow), bytes.Clone(e.buf))
	for i := range s.blocks {
		e = encoder{}
		e.block(&s.blocks[i], 0)
		f.Add(byte(kindBlock), bytes.Clone(e.buf))
	}
	e = encoder{}
	e.step(&s.steps[0], 0)
	f.Add(byte(kindStep), bytes.Clone(e.buf))
	e = encoder{}
	e.position(&s.positions[0])
	f.Add(byte(kindPosition), bytes.Clone(e.buf))
	for i := range s.evidence {
		e = encoder{}
		e.evidence(&s.evidence[i], 0)
		f.Add(byte(kindEvidence), bytes.Clone(e.buf))
	}
	e = encoder{}
	e.distribution(&s.distributions[0], 0)
	f.Add(byte(kindDistribution), bytes.Clone(e.buf))
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		once, ok := rewritten(kind, data)
		if !ok {
			return
		}
		twice, ok := rewritten(kind, once)
		if !ok || !bytes.Equal(once, twice) {
			t.Errorf("%x reads as %x and then as %x, %t", data, once, twice, ok)
		}
	})
}

// rewritten reads one record and writes it.
func rewritten(kind byte, data []byte) ([]byte, bool) {
	d, e := decoder{rest: data}, encoder{}
	switch kind {
	case kindMeter:
		var m Meter
		d.meter(&m)
		e.meter(&m)
	case kindWindow:
		var w Window
		d.window(&w)
		if d.err == nil {
			e.window(&w, 0)
		}
	case kindBlock:
		var b Block
		if d.block(&b); d.err == nil {
			e.block(&b, 0)
		}
	case kindStep:
		var s Step
		if d.step(&s); d.err == nil {
			e.step(&s, 0)
		}
	case kindPosition:
		var p Position
		if d.position(&p); d.err == nil {
			e.position(&p)
		}
	case kindEvidence:
		var v edgeguard.Evidence
		if d.evidence(&v); d.err == nil {
			e.evidence(&v, 0)
		}
	case kindDistribution:
		var one Distribution
		if d.distribution(&one); d.err == nil {
			e.distribution(&one, 0)
		}
	default:
		c := Cut{Taken: time.Time{}}
		d.cut(&c)
		e.cut(&c)
	}
	return e.buf, d.err == nil && e.err == nil
}
