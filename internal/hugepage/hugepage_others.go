//go:build !linux

package hugepage

import "edgeguard/shard"

func memory(limit int64) *shard.Memory { return shard.NewMemory(limit) }
