package attack

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkRows makes the rows of a full book, with the bytes that a run of it takes.
func BenchmarkRows(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var book Book
	for n := range mostRuns {
		book.Add(blocked(fmt.Sprint("rule", n%16), n, epoch))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	now := epoch.Add(1)
	for b.Loop() {
		book.rows = nil
		book.Rows(now)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/mostRuns, "B/run")
	runtime.KeepAlive(&book)
}
