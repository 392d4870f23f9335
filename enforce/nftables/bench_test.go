//go:build linux

package nftables

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

// BenchmarkReplace puts 100,000 entries in force where none are, and where 100,000
// others are; and finds that nothing is to be done.
func BenchmarkReplace(b *testing.B) {
	for name, lists := range map[string][][]enforce.Entry{
		"none before": {nil, enforcetest.HundredThousand(0)}, "others before": {enforcetest.HundredThousand(0), enforcetest.HundredThousand(1)}, "the same before": {enforcetest.HundredThousand(0), enforcetest.HundredThousand(0)},
	} {
		b.Run(name, func(b *testing.B) {
			f := newNamespace(b).filter(Config{})
			for b.Loop() {
				b.StopTimer()
				for _, list := range lists[:1] {
					if err := f.Replace(b.Context(), time.Now(), list); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if err := f.Replace(b.Context(), time.Now(), lists[1]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms")
		})
	}
	b.Run("read all", func(b *testing.B) {
		n := newNamespace(b)
		list := enforcetest.HundredThousand(0)
		if err := n.filter(Config{}).Replace(b.Context(), time.Now(), list); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := n.filter(Config{}).Replace(b.Context(), time.Now(), list); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms")
	})
}

// BenchmarkOne puts one entry in, and takes it out, among 100,000, two hundred times.
func BenchmarkOne(b *testing.B) {
	f := newNamespace(b).filter(Config{})
	if err := f.Replace(b.Context(), time.Now(), enforcetest.HundredThousand(0)); err != nil {
		b.Fatal(err)
	}
	one := enforce.Entry{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Until: time.Now().Add(time.Hour)}
	var took []time.Duration
	for b.Loop() {
		for i := range 400 {
			add, remove := []enforce.Entry{one}, []netip.Prefix(nil)
			if i%2 == 1 {
				add, remove = nil, []netip.Prefix{one.Prefix}
			}
			began := time.Now()
			if err := f.Apply(b.Context(), time.Now(), add, remove); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}

// BenchmarkPacket sends datagrams, and reports the processor time of one from the
// sender's call to its end, which is in the kernel of the same thread. What the table
// lets pass is dropped right behind it, so that lines differ by the table alone.
func BenchmarkPacket(b *testing.B) {
	for name, of := range map[string]struct {
		lengths int // of IPv4, with 100,000 entries
		from    string
	}{
		"no table": {0, "203.0.113.7"}, "1 length": {1, "203.0.113.7"}, "2 lengths": {2, "203.0.113.7"}, "8 lengths": {8, "203.0.113.7"},
		"24 lengths": {24, "203.0.113.7"}, "dropped": {1, "10.0.0.4"},
	} {
		b.Run(name, func(b *testing.B) {
			bed := newBed(b)
			bed.host.load("table inet behind { chain c { type filter hook prerouting priority -250; udp dport 9999 drop; }; }")
			if of.lengths > 0 {
				list := enforcetest.HundredThousand(0)
				for bits := 32 - of.lengths + 1; bits < 32; bits++ {
					list = append(list, hour(netip.PrefixFrom(netip.MustParseAddr("198.18.0.0"), bits).Masked().String())...)
				}
				bed.replace(bed.new(Config{}), list)
			}
			bed.outside.do(func() error { return floodFrom(b, of.from) })
		})
	}
}

// floodFrom sends datagrams to the host until the benchmark has enough.
func floodFrom(b *testing.B, from string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_TRANSPARENT, 1); err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: netip.MustParseAddr(from).As4()}); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: netip.MustParseAddr(host4).As4()}); err != nil {
		return err
	}
	text := make([]byte, 22) // 64 bytes on the wire
	before := threadTime()
	for b.Loop() {
		if _, err := unix.Write(fd, text); err != nil {
			return err
		}
	}
	b.ReportMetric(float64(threadTime()-before)/float64(b.N), "cpu-ns/packet")
	return nil
}

// threadTime returns the processor time that this thread took.
func threadTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
