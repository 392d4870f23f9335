package shard

import (
	"syscall"
	"testing"
)

// hugeMemory is a budget in memory for which the kernel is asked for huge
// pages, as package node does it.
func hugeMemory(tb testing.TB, limit int64) *Memory {
	const huge = 2 << 20
	raw, err := syscall.Mmap(-1, 0, int(limit)+huge, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { syscall.Munmap(raw) })
	if err := syscall.Madvise(raw, syscall.MADV_HUGEPAGE); err != nil {
		tb.Log(err)
	}
	next := aligned(raw, huge)
	var freed [][]byte
	return NewMemoryFrom(limit, func(n int) []byte {
		if len(freed) > 0 {
			out := freed[len(freed)-1]
			freed = freed[:len(freed)-1]
			clear(out)
			return out
		}
		if len(next) < n {
			return nil
		}
		out := next[:n:n]
		next = next[n:]
		return out
	}, func(b []byte) { freed = append(freed, b) })
}
