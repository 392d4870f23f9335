package packet

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"edgeguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func zip(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	capture := synthesize(1000)
	cases := []struct {
		name  string
		file  []byte
		local string
		want  string // in the error; empty if it opens
	}{
		{"pcap", capture, "", ""},
		{"gzip", zip(t, capture), "", ""},
		{"empty", nil, "", "the file is empty"},
		{"log", []byte("127.0.0.1 - - [10/Oct/2000:13:55:36] \"GET / HTTP/1.0\" 200 1\n"), "", "neither pcap nor pcapng, it begins with 31 32 37 2e"},
		{"short", []byte{1}, "", "neither pcap nor pcapng, it begins with 01:"},
		{"gzipped log", zip(t, []byte("127.0.0.1 - -")), "", "neither pcap nor pcapng"},
		{"gzip cut off", zip(t, capture)[:5], "", "gzip: unexpected EOF"},
		{"gzip cut off in the beginning", zip(t, capture)[:12], "", "ends too early"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(dir, c.name)
			if err := os.WriteFile(name, c.file, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Open(name, Options{})
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = r.Next()
			}
			s := r.Stats()
			if err != io.EOF || s.Events != 1000 || s.BytesRead != int64(len(c.file)) || s.BytesTotal != s.BytesRead || s.Truncated != "" {
				t.Errorf("%v, %+v", err, s)
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("Next after the end: %v", err)
			}
			if err := r.Close(); err != nil || r.Close() != nil {
				t.Error(err)
			}
		})
	}
	if _, err := Open(filepath.Join(dir, "absent"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder: %v", err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"no event of kind response": {Kinds: edgeguard.KindResponse},
		"local prefix":              {Local: []netip.Prefix{{}}},
	} {
		if _, err := New(bytes.NewReader(synthesize(1)), "x", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSniff(t *testing.T) {
	capture := synthesize(1000)
	for name, c := range map[string]struct {
		head []byte
		want bool
	}{
		"pcap":            {capture[:4], true},
		"gzipped pcap":    {zip(t, capture)[:SniffSize], true},
		"three bytes":     {capture[:3], false},
		"text":            {[]byte("127.0.0.1 - - "), false},
		"gzipped text":    {zip(t, []byte("127.0.0.1 - - ")), false},
		"gzip, cut off":   {zip(t, capture)[:8], false},
		"pcapng, cut off": {[]byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0}, false},
		"a line end":      {[]byte("\n\r\r\n and other text"), false},
		"nothing":         {nil, false},
	} {
		if Sniff(c.head) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestGzipCutOff(t *testing.T) {
	z := zip(t, synthesize(20000))
	_, stats := events(t, bytes.NewReader(z[:len(z)/2]), Options{})
	if stats.Packets == 0 || stats.Packets >= 20000 || !strings.Contains(stats.Truncated, "the file ends inside") {
		t.Errorf("cut off: %+v", stats)
	}
	z[len(z)-6] ^= 0xff
	_, stats = events(t, bytes.NewReader(z), Options{})
	if stats.Packets != 20000 || !strings.Contains(stats.Truncated, "checksum") {
		t.Errorf("wrong checksum: %+v", stats)
	}
	broken := bytes.Clone(z)
	clear(broken[len(broken)/2 : len(broken)/2+100])
	if _, stats = events(t, bytes.NewReader(broken), Options{}); stats.Truncated == "" {
		t.Errorf("broken: %+v", stats)
	}
}

// An error of the input itself is an error, after what came before it.
func TestInputError(t *testing.T) {
	broken := errors.New("input/output error")
	r, err := New(io.MultiReader(bytes.NewReader(synthesize(10)), iotest.ErrReader(broken)), "the disk", Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		var batch []edgeguard.Event
		if batch, err = r.Next(); err != nil {
			break
		}
		n += len(batch)
	}
	if n != 10 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "the disk") {
		t.Errorf("%d events, %v", n, err)
	}
}

// Events of a pipe that is still written to are not held back.
func TestPipe(t *testing.T) {
	from, to := io.Pipe()
	capture := synthesize(2)
	go to.Write(capture[:24+90])
	r, err := New(from, "pipe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if batch, err := r.Next(); len(batch) != 1 || err != nil {
		t.Fatalf("%d events, %v", len(batch), err)
	}
	go func() {
		to.Write(capture[24+90:])
		to.Close()
	}()
	if batch, err := r.Next(); len(batch) != 1 || err != nil {
		t.Fatalf("%d events, %v", len(batch), err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error(err)
	}
}

func TestCloseEarly(t *testing.T) {
	name := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(name, synthesize(100000), 0o600); err != nil {
		t.Fatal(err)
	}
	for batches := range 6 {
		r, err := Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range batches {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			t.Errorf("after Close: %v", err)
		}
	}
}

// Stats may be asked for from elsewhere at any time (run with -race).
func TestStatsWhileReading(t *testing.T) {
	r, err := New(bytes.NewReader(synthesize(50000)), "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := uint64(0)
		for last < 50000 {
			s := r.Stats()
			if s.Packets < last || s.Events != s.Packets {
				t.Errorf("%+v after %d packets", s, last)
				return
			}
			last = s.Packets
		}
	}()
	for err == nil {
		_, err = r.Next()
	}
	<-done
}

// The steady state allocates nothing: neither a packet nor a batch.
func TestNoAllocations(t *testing.T) {
	b := newBuilder(t, linkEthernet)
	for range 500 {
		for _, p := range []tcp{syn, synAck, ack, ask, answer} {
			b.tcp(p)
		}
		b.write(udpRecord(t))
		b.write(make([]byte, 60)) // not IP
	}
	src := bytes.NewReader(b.file.Bytes())
	d := newDecoder(Options{Kinds: allKinds})
	out := newBatch()
	w := newWindow(src)
	p := &pcap{w: w, header: 16, unit: 1000, link: linkEthernet}
	var r record
	allocs := testing.AllocsPerRun(20, func() {
		src.Reset(b.file.Bytes()[24:])
		w.err, w.from, w.to = nil, 0, 0
		for p.next(&r) == nil {
			d.decode(&r, out)
			if out.full() {
				out.reset()
			}
		}
	})
	if allocs != 0 || d.stats.Packets != 21*3500 {
		t.Errorf("%v allocations, %d packets", allocs, d.stats.Packets)
	}
}
