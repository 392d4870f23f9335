//go:build !linux

package shard

import "testing"

// hugeMemory is ordinary memory here.
func hugeMemory(_ testing.TB, limit int64) *Memory { return NewMemory(limit) }
