package hugepage

import (
	"syscall"

	"edgeguard/shard"
)

func memory(limit int64) *shard.Memory { return shard.NewMemoryFrom(limit, take, give) }

// take maps zeroed memory; nil if there is none, and then the tables do with
// what they have. The kernel aligns what is as large as a huge page.
func take(bytes int) []byte {
	b, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil
	}
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a hint: small pages serve as well
	return b
}

func give(b []byte) { _ = syscall.Munmap(b) } // b came from take: it cannot fail
