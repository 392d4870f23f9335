package packet

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard"
)

// sends is how many packets a process of this test's is to send, in the network where it runs.
const sends = "EDGEGUARD_TEST_SENDS"

// TestSends is that process of BenchmarkLive: 50 packets a millisecond.
func TestSends(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv(sends))
	if n == 0 {
		t.Skip("a benchmark runs it")
	}
	w := &wire{t}
	send, frames := w.sender("far"), scan(t, 1<<16)
	for i := range n {
		if send(frames[i%len(frames)].data); i%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// BenchmarkLive is the processor time that a packet takes where up to 50,000 a second come, and what an interface takes
// in a second where none comes. BenchmarkReplay beside it reads the same packets from a file.
func BenchmarkLive(b *testing.B) {
	for name, kinds := range benchKinds {
		b.Run(name, func(b *testing.B) {
			w := newWire(b)
			r, ended := w.reading(Options{Kinds: kinds, Local: inside})
			before := cpu(b, unix.RUSAGE_SELF)
			other := exec.Command(os.Args[0], "-test.run", "^TestSends$")
			other.Env = append(os.Environ(), sends+"="+strconv.Itoa(b.N))
			if out, err := other.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			for s := r.Stats(); s.Packets+s.Dropped < uint64(b.N); s = r.Stats() {
				time.Sleep(10 * time.Millisecond)
			}
			b.ReportMetric(float64((cpu(b, unix.RUSAGE_SELF)-before).Nanoseconds())/float64(b.N), "cpu-ns/packet")
			b.ReportMetric(float64(r.Stats().Dropped), "dropped")
			_ = r.Close()
			<-ended
		})
	}
	b.Run("idle", func(b *testing.B) {
		w := newWire(b)
		r, ended := w.reading(Options{Kinds: LiveKinds, Local: inside})
		before := cpu(b, unix.RUSAGE_SELF)
		for range b.N {
			wait := unix.NsecToTimespec(int64(time.Second))
			_ = unix.Nanosleep(&wait, nil)
			r.Stats() // as a node does
		}
		b.ReportMetric(float64((cpu(b, unix.RUSAGE_SELF)-before).Microseconds())/float64(b.N), "cpu-us/s")
		_ = r.Close()
		<-ended
	})
}

// benchKinds are those that a benchmark listens for.
var benchKinds = map[string]edgeguard.Kind{"syn": edgeguard.KindSYN, "syn+handshake": edgeguard.KindSYN | edgeguard.KindHandshake}

// reading starts a reader whose events are read and dropped.
func (w *wire) reading(o Options) (r *Reader, ended chan struct{}) {
	r, ended = w.live(LiveOptions{Memory: 16 << 20}, o), make(chan struct{})
	go func() {
		defer close(ended)
		for err := error(nil); err == nil; {
			_, err = r.Next()
		}
	}()
	return r, ended
}

// BenchmarkReplay is the same packets from a file.
func BenchmarkReplay(b *testing.B) {
	name := b.TempDir() + "/scan.pcap"
	file := bytes.NewBuffer(pcapFileHeader(binary.LittleEndian, magicMicro, 4, linkEthernet))
	for i, f := range scan(b, 1<<16) {
		at := binary.LittleEndian.AppendUint32(nil, uint32(1700000000+i/50000))
		at = binary.LittleEndian.AppendUint32(at, uint32(i%50000*20))
		at = binary.LittleEndian.AppendUint32(at, uint32(len(f.data)))
		file.Write(binary.LittleEndian.AppendUint32(at, uint32(len(f.data))))
		file.Write(f.data)
	}
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	for kind, kinds := range benchKinds {
		b.Run(kind, func(b *testing.B) {
			before := cpu(b, unix.RUSAGE_SELF)
			for range b.N {
				r, err := Open(name, Options{Kinds: kinds, Local: inside})
				for err == nil {
					_, err = r.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b, unix.RUSAGE_SELF)-before).Nanoseconds())/float64(b.N)/(1<<16), "cpu-ns/packet")
		})
	}
}

func cpu(b *testing.B, who int) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
