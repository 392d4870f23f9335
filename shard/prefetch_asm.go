//go:build amd64 || arm64

package shard

import "unsafe"

// prefetch asks the processor for the cache line at p. It reads nothing and
// never faults, whatever p is. Go has no intrinsic for it.
//
//go:noescape
func prefetch(p unsafe.Pointer)
