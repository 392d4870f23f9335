package hugepage

import (
	"syscall"

	"edgeguard/shard"
)

// memory keeps one piece ready, with its pages there: else the decision that needs it
// waits under a lock until the kernel has found and zeroed 2 MiB, for up to 9 ms.
func memory(limit int64) *shard.Memory {
	ready := make(chan []byte, 1)
	return shard.NewMemoryFrom(limit, func(bytes int) (b []byte) {
		select {
		case b = <-ready:
		default:
			b = take(bytes)
		}
		go prepare(bytes, ready)
		return b
	}, give)
}

// populate is MADV_POPULATE_WRITE, of Linux 5.14; an older kernel makes the pages when
// they are used. To write into them instead stops the world for as long: the collector
// waits for what runs outside of a system call.
const populate = 23

// prepare takes a piece with its pages, and gives it back if one is ready.
func prepare(bytes int, ready chan<- []byte) {
	b := take(bytes)
	if b == nil {
		return
	}
	_ = syscall.Madvise(b, populate)
	select {
	case ready <- b:
	default:
		give(b)
	}
}

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
