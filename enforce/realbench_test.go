//go:build linux

package enforce_test

import (
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"edgeguard/enforce"
)

// hundredThousand entries, a fifth of them IPv6 /64, in order.
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

// BenchmarkLoad puts 100,000 entries in force where 100,000 others are.
func BenchmarkLoad(b *testing.B) {
	load := func(b *testing.B, e enforce.Enforcer) {
		lists := [][]enforce.Entry{hundredThousand(0), hundredThousand(1)}
		for i := 0; b.Loop(); i++ {
			if err := e.Replace(b.Context(), time.Now(), lists[i%2]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("haproxy socket", func(b *testing.B) {
		c := startHAProxy(b).config(enforce.FormatHAProxy)
		c.Timeout = time.Minute
		load(b, newFile(b, c))
	})
	for format, argv := range map[enforce.Format][]string{
		enforce.FormatNFT: {"nft", "-f"}, enforce.FormatIPSet: {"ipset", "restore", "-file"},
	} {
		b.Run(format.String(), func(b *testing.B) {
			need(b, argv[0], argv[0])
			n := newNetns(b)
			path := filepath.Join(b.TempDir(), "list")
			load(b, newFile(b, enforce.FileConfig{Path: path, Format: format, Timeout: time.Minute, Reload: n.argv(append(argv, path)...)}))
		})
	}
}
