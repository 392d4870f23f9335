//go:build !amd64 && !arm64

package shard

import "unsafe"

// prefetch does nothing here: it is only a hint.
func prefetch(unsafe.Pointer) {}
