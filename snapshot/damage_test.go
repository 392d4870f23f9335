package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
)

// refused checks that nothing of the file is used.
func refused(t *testing.T, data []byte, why ...error) {
	t.Helper()
	sink := untouchable(t)
	_, err := readTwice(bytes.NewReader(data), noon, &sink)
	for _, w := range why {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("got %v, want one of %v", err, why)
}

// TestCutShort cuts a file at every byte.
func TestCutShort(t *testing.T) {
	data := small().bytes(t)
	for n := range data {
		refused(t, data[:n], errDamaged)
	}
	refused(t, append(bytes.Clone(data), 0), errDamaged)
	refused(t, append(bytes.Clone(data), data...), errDamaged)
}

// TestFlippedBits flips every bit of a small file, and random ones of a big.
func TestFlippedBits(t *testing.T) {
	data := small().bytes(t)
	for i := range len(data) * 8 {
		data[i/8] ^= 1 << (i % 8)
		refused(t, data, errDamaged, errForeign, errVersion)
		data[i/8] ^= 1 << (i % 8)
	}
	rng := seeded(t)
	data = random(rng, 200).bytes(t)
	for range 200 {
		torn := bytes.Clone(data)
		for range 1 + rng.IntN(8) {
			torn[rng.IntN(len(torn))] ^= byte(1 + rng.IntN(255))
		}
		if !bytes.Equal(torn, data) {
			refused(t, torn, errDamaged, errForeign, errVersion)
		}
	}
}

// TestMixedUp: whole frames with good checksums, in another order or number.
func TestMixedUp(t *testing.T) {
	data := small().bytes(t)
	var frames [][]byte
	for rest := data[prologue:]; len(rest) > 0; {
		n := frameHead + int(binary.LittleEndian.Uint32(rest[1:])) + frameTail
		frames = append(frames, rest[:n])
		rest = rest[n:]
	}
	for i := range frames {
		for j := range i {
			mixed := append([][]byte(nil), frames...)
			mixed[i], mixed[j] = mixed[j], mixed[i]
			refused(t, append(bytes.Clone(data[:prologue]), bytes.Join(mixed, nil)...), errDamaged)
		}
		without := append(append([][]byte(nil), frames[:i]...), frames[i+1:]...)
		refused(t, append(bytes.Clone(data[:prologue]), bytes.Join(without, nil)...), errDamaged)
	}
}

// forge makes a file of these frames, with all checksums right.
func forge(frames ...[]byte) []byte {
	out := binary.LittleEndian.AppendUint16([]byte(magic), version)
	for _, f := range frames {
		out = append(out, f...)
	}
	return out
}

func frame(kind byte, payload ...byte) []byte { return sealFrame(kind, append(begin(nil), payload...)) }

// ending is the frame that ends the file of these frames.
func ending(count tally, frames ...[]byte) []byte {
	e := encoder{buf: begin(nil)}
	e.tally(count)
	e.fixed64(xxhash.Sum64(forge(frames...)))
	return sealFrame(kindEnd, e.buf)
}

// head is the frame of a cut at noon.
func head() []byte {
	e := encoder{buf: begin(nil)}
	e.cut(&Cut{Taken: noon})
	return sealFrame(kindHead, e.buf)
}

// evidenceOf is a record of evidence with slots of so many seconds, up to its slots,
// which follow.
func evidenceOf(width byte, slots ...byte) []byte {
	return append([]byte{0, 32, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, width}, slots...)
}

// TestForged: a file whose checksums are right and whose content is not.
func TestForged(t *testing.T) {
	meter := frame(kindMeter, 1, 'm', 5, 0)
	one := []byte{0, 32, 192, 0, 2, 1} // 192.0.2.1/32
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	if _, err := readTwice(bytes.NewReader(forge(head(), meter, frame(kindWindow, join(one, []byte{9, 1, 0, 1})...),
		ending(tally{windows: 1}, head(), meter, frame(kindWindow, join(one, []byte{9, 1, 0, 1})...)))), noon, &Sink{}); err != nil {
		t.Fatalf("the sound one: %v", err)
	}
	for name, frames := range map[string][][]byte{
		"no head":             {meter},
		"two heads":           {head(), head()},
		"two heads in one":    {frame(kindHead, 0, 0, 0, 0, 0, 0)},
		"unknown kind":        {head(), frame('?', 1)},
		"windows of no meter": {head(), frame(kindWindow, join(one, []byte{9, 1, 0, 1})...)},
		"slots of no seconds": {head(), frame(kindMeter, 0, 0, 0)},
		"meter's flags":       {head(), frame(kindMeter, 0, 5, 2)},
		"no slots":            {head(), meter, frame(kindWindow, join(one, []byte{9, 0})...)},
		"61 slots":            {head(), meter, frame(kindWindow, join(one, []byte{9, 61}, bytes.Repeat([]byte{1, 1}, 61))...)},
		"a slot twice":        {head(), meter, frame(kindWindow, join(one, []byte{9, 2, 0, 1, 0, 1})...)},
		"a slot too old":      {head(), meter, frame(kindWindow, join(one, []byte{99, 1, 60, 1})...)},
		"a slot before 0":     {head(), meter, frame(kindWindow, join(one, []byte{9, 1, 10, 1})...)},
		"a count of 0":        {head(), meter, frame(kindWindow, join(one, []byte{9, 1, 0, 0})...)},
		"a count of 65,536":   {head(), meter, frame(kindWindow, join(one, []byte{9, 1, 0, 0x80, 0x80, 4})...)},
		"a slot of 33 bits":   {head(), meter, frame(kindWindow, join(one, []byte{0x80, 0x80, 0x80, 0x80, 0x10, 1, 0, 1})...)},
		"host bits":           {head(), meter, frame(kindWindow, 0, 31, 192, 0, 2, 1, 9, 1, 0, 1)},
		"33 bits of IPv4":     {head(), meter, frame(kindWindow, 0, 33, 192, 0, 2, 1, 0, 9, 1, 0, 1)},
		"mapped IPv4":         {head(), meter, frame(kindWindow, join([]byte{1, 96}, make([]byte, 10), []byte{255, 255, 9, 1, 0, 1})...)},
		"unknown form":        {head(), meter, frame(kindWindow, join([]byte{4, 32}, one[2:], []byte{9, 1, 0, 1})...)},
		"fingerprint 0":       {head(), meter, frame(kindWindow, join([]byte{2, 0}, make([]byte, 8), []byte{9, 1, 0, 1})...)},
		"endless number":      {head(), frame(kindMeter, bytes.Repeat([]byte{0xff}, 20)...)},
		"a text too long":     {head(), frame(kindPosition, 0x81, 0x20)},
		"a text of 4 GB":      {head(), frame(kindPosition, 0xff, 0xff, 0xff, 0xff, 0x0f)},
		"a text past the end": {head(), frame(kindPosition, 5, 'x')},
		"2 s of nanoseconds":  {frame(kindHead, 0, 0, 0x80, 0xa8, 0xd6, 0xb9, 7)},
		"a year of 5 digits":  {frame(kindHead, append(binary.AppendVarint([]byte{0}, lastTime.Unix()+1), 0)...)},
		"a short record":      {head(), frame(kindBlock, one...)},
		"a slot of 0 seconds": {head(), frame(kindEvidence, evidenceOf(0, make([]byte, 61)...)...)},
		"a slot of 65,536":    {head(), frame(kindEvidence, evidenceOf(5, 0x80, 0x80, 4)...)},
		"17 parts":            {head(), frame(kindEvidence, evidenceOf(5, append(make([]byte, 60), 17)...)...)},
		"a part that is cut":  {head(), frame(kindEvidence, evidenceOf(5, append(make([]byte, 60), 1, 9, 'e')...)...)},
		"an empty frame":      {head(), frame(kindBlock)},
	} {
		t.Run(name, func(t *testing.T) {
			sink := untouchable(t)
			_, err := readTwice(bytes.NewReader(forge(append(frames, ending(tally{}, frames...))...)), noon, &sink)
			// The end comes last: it must not be what saves us from the rest.
			if !errors.Is(err, errDamaged) || strings.Contains(err.Error(), "other numbers") {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, count := range map[string]tally{"windows": {windows: 1}, "blocks": {blocks: 1}, "steps": {steps: 1}, "positions": {positions: 1}} {
		t.Run("wrong number of "+name, func(t *testing.T) { refused(t, forge(head(), ending(count, head())), errDamaged) })
	}
	t.Run("wrong sum", func(t *testing.T) { refused(t, forge(head(), ending(tally{})), errDamaged) })
	t.Run("long end", func(t *testing.T) { refused(t, forge(head(), frame(kindEnd, make([]byte, 41)...)), errDamaged) })
}

// TestClaims: a length that the file does not have is not allocated.
func TestClaims(t *testing.T) {
	huge := binary.LittleEndian.AppendUint32([]byte{kindBlock}, 0xffffffff)
	data := forge(head(), huge)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	refused(t, data, errDamaged)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", got, len(data))
	}
}

// TestSetAside: a file that cannot be used is out of the way, its content
// kept, and the error names both places.
func TestSetAside(t *testing.T) {
	good := small().bytes(t)
	newer := bytes.Clone(good)
	newer[len(magic)]++
	future := &state{cut: Cut{Taken: noon.Add(maxAhead + time.Second)}}
	for _, test := range []struct {
		name string
		data []byte
		why  error
	}{
		{"torn", good[:len(good)/2], errDamaged},
		{"empty", nil, errDamaged},
		{"foreign", []byte("root:x:0:0:root:/root:/bin/bash\n"), errForeign},
		{"newer", newer, errVersion},
		{"future", future.bytes(t), errFuture},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			for n := 1; n <= 3; n++ {
				if err := os.WriteFile(path, test.data, 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := LoadFile(path, noon, untouchable(t))
				aside := path + ".aside-" + string(rune('0'+n))
				if !errors.Is(err, test.why) || !strings.Contains(err.Error(), "state "+path) || !strings.Contains(err.Error(), aside) {
					t.Fatalf("got %v", err)
				}
				if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, test.data) {
					t.Errorf("%s has %d bytes, %v", aside, len(kept), err)
				}
				if _, err := LoadFile(path, noon, untouchable(t)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the second time: %v", err)
				}
			}
		})
	}
}

// TestAsideIsBounded: a node that fails again and again fills no disk.
func TestAsideIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for n := range 20 {
		if err := os.WriteFile(path, []byte{byte(n)}, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadFile(path, noon, Sink{}); !errors.Is(err, errForeign) {
			t.Fatal(err)
		}
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != maxAside {
		t.Errorf("%d files, %v", len(list), err)
	}
	if b, err := os.ReadFile(path + ".aside-1"); err != nil || b[0] != 0 {
		t.Errorf("the first is no more the first: %v, %v", b, err)
	}
}

// TestSlightlyAhead: a clock set back by seconds costs nothing.
func TestSlightlyAhead(t *testing.T) {
	var got state
	if _, err := LoadFile(small().save(t), noon.Add(-30*time.Second), got.sink()); err != nil {
		t.Fatal(err)
	}
	w := got.meters[0].windows[0]
	if w.Head != slot(noon, 5)-6 || w.Counts.Sum() != 1901 {
		t.Errorf("got %+v", w)
	}
}

// TestNoFile: a folder is neither read nor moved.
func TestNoFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	noFile(t, folder)
}

func noFile(t *testing.T, path string) {
	t.Helper()
	_, err := LoadFile(path, noon, untouchable(t))
	if err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("%s: %v", path, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("it was moved: %v", err)
	}
}
