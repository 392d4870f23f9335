package packet

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/internal/realdata"
)

// captures lists all captures among the real data.
func captures(t *testing.T) []string {
	folders, err := filepath.Glob(filepath.Join(realdata.Path(t, "pcap-web-ndpi"), "..", "pcap-*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(d.Name(), ".pcap") {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 500 {
		t.Fatalf("only %d captures", len(all))
	}
	return all
}

// Every capture is read to its end within a bound of memory, whatever it holds.
func TestEveryCaptureIsBounded(t *testing.T) {
	for _, file := range captures(t) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Open(file, Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for err == nil {
			_, err = r.Next()
		}
		r.Close()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err != io.EOF || got > 8<<20 {
			t.Errorf("%s: %v, %d bytes allocated, %+v", file, err, got, r.Stats())
		}
	}
}

// walk reads a capture without goroutines, and calls found for each record.
func walk(t *testing.T, src io.Reader, buf []byte, found func(*record)) {
	t.Helper()
	plain, err := inflate(src)
	if err != nil {
		return
	}
	w := &window{src: plain, buf: buf, idle: func() {}}
	source, err := identify(w)
	if err != nil {
		return
	}
	var r record
	for source.next(&r) == nil {
		found(&r)
	}
}

func TestEveryCaptureAgainstGopacket(t *testing.T) {
	buf := make([]byte, windowSize)
	for _, file := range captures(t) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		walk(t, f, buf, func(r *record) {
			n++
			if n > 500 && n%50 != 0 {
				return // the big ones are floods of alike packets
			}
			if ip, version := network(r.link, r.data); version != 0 {
				compareWithGopacket(t, ip, version)
			}
		})
		f.Close()
	}
}

// The same packets in both byte orders give the same events.
func TestByteOrdersAreEqual(t *testing.T) {
	folder := realdata.Path(t, "pcap-format-gopacket")
	files, err := filepath.Glob(filepath.Join(folder, "be", "*"))
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	total := 0
	for _, file := range files {
		name := filepath.Base(file)
		big, bigStats := readEvents(t, file)
		little, littleStats := readEvents(t, filepath.Join(folder, "le", name))
		if !slices.EqualFunc(big, little, sameEvent) {
			t.Errorf("%s: %d and %d events, which differ", name, len(big), len(little))
		}
		bigStats.BytesRead, bigStats.BytesTotal = littleStats.BytesRead, littleStats.BytesTotal
		if !reflect.DeepEqual(bigStats, littleStats) {
			t.Errorf("%s: %+v and %+v", name, bigStats, littleStats)
		}
		total += len(big)
	}
	if total < 30 {
		t.Errorf("only %d events in all", total)
	}
}

func readEvents(t *testing.T, file string) ([]edgeguard.Event, Stats) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return events(t, f, Options{})
}

// A capture cut off anywhere gives the first packets of the whole one.
func TestCutOffAnywhere(t *testing.T) {
	dir := realdata.Path(t, "pcap-malformed-tcpdump")
	all, err := filepath.Glob(filepath.Join(dir, "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(realdata.Path(t, "pcap-format-gopacket"), "?e", "test00*.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, windowSize)
	d, out := newDecoder(Options{Kinds: allKinds}), newBatch()
	tried, total := 0, 0
	for _, file := range append(more[:10], all...) {
		b, err := os.ReadFile(file)
		if err != nil || len(b) > 2500 {
			continue
		}
		if tried++; tried > 25 {
			break
		}
		last := 0
		for n := range len(b) + 1 {
			packets := 0
			walk(t, bytes.NewReader(b[:n]), buf, func(r *record) {
				packets++
				out.reset()
				d.decode(r, out)
			})
			if packets < last || packets > last+1 {
				t.Fatalf("%s: %d packets in %d bytes, %d in one less", file, packets, n, last)
			}
			last = packets
		}
		total += last
	}
	if tried < 20 || total < 40 {
		t.Errorf("only %d files with %d packets tried", tried, total)
	}
}
