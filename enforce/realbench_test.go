//go:build linux

package enforce_test

import (
	"path/filepath"
	"testing"
	"time"

	"edgeguard/enforce"
	"edgeguard/enforce/enforcetest"
)

// BenchmarkLoad puts 100,000 entries in force where 100,000 others are.
func BenchmarkLoad(b *testing.B) {
	load := func(b *testing.B, e enforce.Enforcer) {
		lists := [][]enforce.Entry{enforcetest.HundredThousand(0), enforcetest.HundredThousand(1)}
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
