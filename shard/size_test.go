package shard

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"edgeguard/ring"
)

func TestSizes(t *testing.T) {
	if a, b, c := unsafe.Sizeof(entry{}), unsafe.Sizeof(warmEntry{}), unsafe.Sizeof(markEntry{}); a != 16 || b != 16 || c != 16 {
		t.Errorf("the forms of an entry take %d, %d and %d bytes, want 16", a, b, c)
	}
	if a, b, c := unsafe.Sizeof(ring.Counts{}), unsafe.Sizeof(block{}), unsafe.Sizeof(index{}); a != b || a != c {
		t.Errorf("a ring takes %d bytes, a block %d and an index %d", a, b, c)
	}
	if size := unsafe.Sizeof(page{}); size != pageSize {
		t.Errorf("a page takes %d bytes", size)
	}
	if size := unsafe.Sizeof(ringPage{}); size != pageSize {
		t.Errorf("a page of rings takes %d bytes", size)
	}
	if size := unsafe.Sizeof(shard{}); size != lineSize {
		t.Errorf("a shard takes %d bytes, and two must not share a line of %d", size, lineSize)
	}
}

// TestLayouts checks that nothing in a page overlaps.
func TestLayouts(t *testing.T) {
	for _, key := range []uintptr{4, 8, 12, 16} {
		for _, peaks := range []bool{false, true} {
			l := newLayout(key, peaks)
			taken := map[uintptr]string{}
			claim := func(what string, from, n uintptr) {
				for at := from; at < from+n; at++ {
					if taken[at] != "" || at >= pageSize {
						t.Fatalf("key %d, peaks %t: byte %d is for %s and for %s", key, peaks, at, taken[at], what)
					}
					taken[at] = what
				}
			}
			var p page
			offset := func(q unsafe.Pointer) uintptr { return uintptr(q) - uintptr(unsafe.Pointer(&p)) }
			claim("head", offset(unsafe.Pointer(l.headOf(&p))), unsafe.Sizeof(pageHead{}))
			for g := range l.groups {
				claim("over", offset(unsafe.Pointer(l.overOf(&p, g))), 1)
				for i := range l.each {
					e := l.entryAt(&p, g, i)
					if l.groupOf(&p, e) != g {
						t.Errorf("entry %d of group %d is said to be in %d", i, g, l.groupOf(&p, e))
					}
					claim("entry", offset(unsafe.Pointer(e)), l.stride)
				}
			}
			if l.cap > 255 || l.full >= l.cap || l.full*8 < l.cap*7 {
				t.Errorf("key %d, peaks %t: full at %d of %d", key, peaks, l.full, l.cap)
			}
			t.Logf("key %d, peaks %t: %d entries of %d bytes", key, peaks, l.cap, l.stride)
		}
	}
}

// TestNoPointers holds that the garbage collector has nothing to follow.
func TestNoPointers(t *testing.T) {
	for _, v := range []any{page{}, pageHead{}, entry{}, warmEntry{}, markEntry{}, ringPage{}, block{}, index{}} {
		if hasPointers(reflect.TypeOf(v)) {
			t.Errorf("%T holds pointers", v)
		}
	}
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() < reflect.Bool || t.Kind() > reflect.Float64 || t.Kind() == reflect.Uintptr
}

// TestHash holds our XXH64 to the library's.
func TestHash(t *testing.T) {
	r := random(t)
	for range 1000 {
		seed, a, b := r.Uint64(), r.Uint64(), r.Uint64()
		d := xxhash.NewWithSeed(seed)
		write := func(w uint64) {
			var buf [8]byte
			for i := range buf {
				buf[i] = byte(w >> (8 * i))
			}
			d.Write(buf[:])
		}
		write(a)
		if got := hash1(seed, a); got != d.Sum64() {
			t.Fatalf("hash1(%x, %x) = %x, want %x", seed, a, got, d.Sum64())
		}
		write(b)
		if got := hash2(seed, a, b); got != d.Sum64() {
			t.Fatalf("hash2(%x, %x, %x) = %x, want %x", seed, a, b, got, d.Sum64())
		}
	}
}

func TestNoAllocs(t *testing.T) {
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			table := New(NewMemory(16<<20), c.Config)
			r := &traffic{Rand: random(t), past: 1000, keys: 1000}
			ops, out := make([]Op, 100), make([]Count, 100)
			run := func() {
				for i := range ops {
					ops[i] = r.op()
				}
				table.AddBatch(ops, out)
				for i := range ops {
					table.Add(&ops[i])
				}
				table.Count(ops[0].Addr, ops[0].With, r.now)
				table.Until(ops[0].Addr, ops[0].With, r.now, 3)
			}
			for range 300 {
				run()
			}
			if n := testing.AllocsPerRun(50, run); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
