package node

import (
	"encoding/binary"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
)

// BenchmarkStart is a start with a state of a million keys and a hundred
// thousand blocks: what is measured is the time until the first answer may be
// given, and the time for which the logs are held up while the state is cut.
// To reach: 2 s to ready.
func BenchmarkStart(b *testing.B) {
	folder := b.TempDir()
	yaml := []byte("listen: {auth: [\"unix:/nonexistent/a\"]}\nstate: " + folder + "\nrules: [{name: small, threshold: 2000}]\n")
	c, err := config.Parse("bench", yaml)
	if err != nil {
		b.Fatal(err)
	}
	fresh := func() *Node {
		n, err := New(c, Options{})
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	n := fresh()
	now := n.clock.Now()
	for i := range 1_000_000 {
		event := edgeguard.Event{Time: now, Addr: address(i), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		for range 1 + i%3 {
			n.pipeline.Decide(now, &event)
		}
	}
	for i := range 100_000 {
		block := edgeguard.Block{Prefix: netip.PrefixFrom(address(i), 32), Rule: "small", Reason: "over limit", Origin: "bench", Since: now, Until: now.Add(time.Hour), Version: 1}
		if _, err := n.list.Merge(block, now); err != nil {
			b.Fatal(err)
		}
	}
	n.store.restore() // makes the folder; there is no state yet
	begun := time.Now()
	n.store.save()
	saved := time.Since(begun)
	n.pipeline.Close()
	for b.Loop() {
		n := fresh()
		n.protected.look()
		n.store.restore()
		if keys, blocks := n.view().Stats().Tables.Keys, n.list.Len(); keys != 1_000_000 || blocks != 100_000 {
			b.Fatalf("%d keys, %d blocks", keys, blocks)
		}
		b.StopTimer()
		n.pipeline.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(saved.Milliseconds()), "save-ms")
}

func address(i int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], 0x20000000+uint32(i)*7)
	return netip.AddrFrom4(a)
}

// BenchmarkLogToBlock is the time from the writing of the line that crosses a
// limit to the block in the list, in a node that follows the file. To reach:
// 150 ms at the 99th percentile, nginx's own buffer (50 ms) included.
func BenchmarkLogToBlock(b *testing.B) {
	folder := shortDir(b)
	u := newNode(b, folder, small).start()
	writeLog(b, filepath.Join(folder, "access.log"), "203.0.113.1", 1)
	file := filepath.Join(folder, "access.log")
	u.eventually("it follows", func() bool { return u.count("203.0.113.1") == 1 })
	var took []time.Duration
	i := 0
	for b.Loop() {
		addr := address(i).String()
		i++
		writeLog(b, file, addr, 10)
		begun := time.Now()
		writeLog(b, file, addr, 1)
		for !u.blocked(addr) {
			time.Sleep(50 * time.Microsecond)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50-µs", 0.5}, {"p99-µs", 0.99}, {"max-µs", 1}} {
		b.ReportMetric(float64(took[int(q.at*float64(len(took)-1))].Microseconds()), q.name)
	}
}
