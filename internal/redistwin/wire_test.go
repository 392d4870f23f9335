package redistwin

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"edgeguard/aggregator"
)

func TestPushForms(t *testing.T) {
	h := aggregator.NewHeader(aggregator.NodeID("edge-1", "0011223344556677"), time.UnixMilli(0x0102030405), 5)
	if back, err := parseHeader(h.Append(nil)); err != nil || back != h {
		t.Errorf("%v, %v", back, err)
	}
	p := aggregator.Push{First: 0x01020304, Sum: 9, Counts: []uint16{1, 0, 0x0203}}
	b := p.AppendBody(nil)
	if got := hex.EncodeToString(b); got != "0102030400000009"+"000100000203" {
		t.Errorf("body %s", got)
	}
	back, err := parseBody(b)
	if err != nil || back.First != p.First || back.Sum != 9 || !slices.Equal(back.Counts, p.Counts) || back.NewestSlot() != 0x01020306 {
		t.Errorf("%+v, %v", back, err)
	}
	for _, bad := range [][]byte{nil, b[:8], b[:9], append(slices.Clone(b), 1), make([]byte, 8+2*61), {255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if _, err := parseBody(bad); err == nil {
			t.Errorf("body %x: no error", bad)
		}
	}
}

func FuzzParseBody(f *testing.F) {
	p := aggregator.Push{First: 7, Sum: 9, Counts: []uint16{1, 2}}
	f.Add(p.AppendBody(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseBody(b); err == nil && !bytes.Equal(p.AppendBody(nil), b) {
			t.Fatalf("%x became %v", b, p)
		}
	})
}
