// Package hugepage allocates the memory of the counting tables. It is outside of
// the Go heap, so that it does not set the pace of the garbage collector. It is in
// huge pages where the kernel has them, which save a fifth to a third of an access
// at millions of keys (docs/figures.md).
package hugepage

import "edgeguard/shard"

// Memory returns a budget of at most limit bytes for the tables. Beside it, one piece
// of up to 2 MiB is kept ready for growth. Where the system has neither huge pages nor
// mmap, it is plain memory.
func Memory(limit int64) *shard.Memory { return memory(limit) }
