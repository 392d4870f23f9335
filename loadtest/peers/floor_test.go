package peers

import (
	"sync"
	"testing"
)

// BenchmarkFloor is what the machine allows: one read-modify-write of a random
// cache line, out of as many lines as there are keys. No table that keeps a
// line a key can be faster. Locked is the same under one of 256 locks: an
// atomic instruction waits for the stores before it, so a lock for each event
// costs more than its own time.
func BenchmarkFloor(b *testing.B) {
	lines := make([][8]uint64, keyCount)
	for i := range lines {
		lines[i][0] = 1 // so that the page is there
	}
	b.Run("independent", func(b *testing.B) {
		keys := uniform(1)
		for range b.N {
			lines[keys.next()][0]++
		}
	})
	b.Run("locked", func(b *testing.B) {
		keys := uniform(1)
		var locks [lockShards]struct {
			sync.Mutex
			_ [56]byte
		}
		for range b.N {
			k := keys.next()
			lock := &locks[k%lockShards]
			lock.Lock()
			lines[k][0]++
			lock.Unlock()
		}
	})
	b.Run("dependent", func(b *testing.B) {
		keys, answer := uniform(1), uint64(0)
		for range b.N {
			keys += uniform(answer >> 63)
			line := &lines[keys.next()]
			line[0]++
			answer = line[0]
		}
		sink += uint32(answer)
	})
}
