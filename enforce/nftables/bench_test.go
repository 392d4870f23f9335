//go:build linux

package nftables

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard/enforce"
)

// hundredThousand entries, a fifth of them IPv6 /64, in the order of the contract.
func hundredThousand(shift byte) []enforce.Entry {
	until := time.Now().Add(time.Hour)
	var list []enforce.Entry
	for i := range 80_000 {
		a := netip.AddrFrom4([4]byte{10 + shift, byte(i >> 14), byte(i >> 6), byte(i << 2)})
		list = append(list, enforce.Entry{Prefix: netip.PrefixFrom(a, 32), Until: until})
	}
	for i := range 20_000 {
		a := netip.AddrFrom16([16]byte{0x20, 1, shift, byte(i >> 14), byte(i >> 6), byte(i << 2)})
		list = append(list, enforce.Entry{Prefix: netip.PrefixFrom(a, 64), Until: until})
	}
	return list
}

// BenchmarkReplace puts 100,000 entries in force where none are, and where 100,000
// others are; and finds that nothing is to be done.
func BenchmarkReplace(b *testing.B) {
	for name, lists := range map[string][][]enforce.Entry{
		"none before": {nil, hundredThousand(0)}, "others before": {hundredThousand(0), hundredThousand(1)}, "the same before": {hundredThousand(0), hundredThousand(0)},
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
		})
	}
	b.Run("read all", func(b *testing.B) {
		n := newNamespace(b)
		list := hundredThousand(0)
		if err := n.filter(Config{}).Replace(b.Context(), time.Now(), list); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := n.filter(Config{}).Replace(b.Context(), time.Now(), list); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOne puts one entry in, and takes it out, among 100,000. It reports the
// slowest of a hundred, too.
func BenchmarkOne(b *testing.B) {
	f := newNamespace(b).filter(Config{})
	if err := f.Replace(b.Context(), time.Now(), hundredThousand(0)); err != nil {
		b.Fatal(err)
	}
	one := enforce.Entry{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Until: time.Now().Add(time.Hour)}
	var took []time.Duration
	for b.Loop() {
		for _, change := range []func() error{
			func() error { return f.Apply(b.Context(), time.Now(), []enforce.Entry{one}, nil) },
			func() error { return f.Apply(b.Context(), time.Now(), nil, []netip.Prefix{one.Prefix}) },
		} {
			began := time.Now()
			if err := change(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}
