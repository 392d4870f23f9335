package peers

import (
	"fmt"
	"syscall"
	"unsafe"

	"edgeguard/shard"
)

// hugePage is the size of a huge page of amd64 and arm64.
const hugePage = 2 << 20

// HugeMemory is a budget of limit bytes for which the kernel is asked for huge
// pages, as the edgeguard program does. What a table gives back is not used
// again; release unmaps everything, after which no table of it may be used.
func HugeMemory(limit int64) (memory *shard.Memory, release func(), err error) {
	mapped, err := syscall.Mmap(-1, 0, int(limit)+hugePage, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return nil, nil, fmt.Errorf("mmap %d bytes: %w", limit, err)
	}
	// A kernel without huge pages refuses the advice, and small pages do.
	_ = syscall.Madvise(mapped, syscall.MADV_HUGEPAGE)
	rest := mapped[-uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))%hugePage:]
	alloc := func(n int) []byte {
		if len(rest) < n {
			return nil
		}
		out := rest[:n:n]
		rest = rest[n:]
		return out
	}
	return shard.NewMemoryFrom(limit, alloc, func([]byte) {}), func() { _ = syscall.Munmap(mapped) }, nil
}
