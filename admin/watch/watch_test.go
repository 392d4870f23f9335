package watch

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func key(n int) Key {
	return Key{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}), 32)}
}

// counting returns a board that counts its looks.
func counting() (*Board, *atomic.Int64) {
	looks := new(atomic.Int64)
	return NewBoard(time.Now, func(_ time.Time, k Key) Figures {
		looks.Add(1)
		return Figures{Prefix: k.Prefix, Count: 7}
	}), looks
}

// Each slot has one message, at its beginning.
func TestOneMessageASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := counting()
		time.Sleep(1700 * time.Millisecond)
		v := b.Join([]Key{key(2), key(1)})
		for range 3 {
			m := <-v.Messages
			if !m.Time.Equal(m.Time.Truncate(Every)) {
				t.Errorf("sent at %v", m.Time)
			}
			if want := `[{"prefix":"203.0.113.2/32","count":7,"limit":0} {"prefix":"203.0.113.1/32","count":7,"limit":0}]`; fmt.Sprintf("%s", m.Figures) != want {
				t.Errorf("%s, want %s", m.Figures, want)
			}
		}
		if time.Since(time.Now().Truncate(Every)) != 0 {
			t.Error("the last one came late")
		}
		b.Leave(v)
	})
}

// Fifty viewers of the same keys cost one look at each.
func TestOneLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, looks := counting()
		var all []*Viewer
		for range 50 {
			all = append(all, b.Join([]Key{key(1), key(2)}))
		}
		for range 3 {
			time.Sleep(Every)
			synctest.Wait()
			for _, v := range all {
				if m := <-v.Messages; len(m.Figures) != 2 {
					t.Errorf("%s", m.Figures)
				}
			}
		}
		if n := looks.Load(); n != 3*2 {
			t.Errorf("%d looks in three slots at two keys", n)
		}
		for _, v := range all {
			b.Leave(v)
		}
	})
}

// Nothing is looked at, and nothing runs, before somebody looks and after all have
// left, however they came and went.
func TestNothingRunsUnwatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, looks := counting()
		time.Sleep(time.Minute)
		for range 3 {
			v := b.Join([]Key{key(1)})
			<-v.Messages
			b.Leave(v)
			b.Leave(b.Join([]Key{key(1)}))
		}
		if n := looks.Load(); n != 3 {
			t.Errorf("%d looks in three slots", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := looks.Load(); n != 3 || b.run != nil {
			t.Errorf("%d looks, run %v, while nobody looked", n, b.run)
		}
		stacks := make([]byte, 1<<20)
		if all := string(stacks[:runtime.Stack(stacks, true)]); strings.Contains(all, "watch.(*Board)") {
			t.Errorf("a goroutine is left:\n%s", all)
		}
	})
}

// Who joins while a look is on its way is in the same run: one timer, not two.
func TestOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looking, goOn := make(chan bool), make(chan bool)
		var held atomic.Bool
		var looks atomic.Int64
		held.Store(true)
		b := NewBoard(time.Now, func(time.Time, Key) Figures {
			looks.Add(1)
			if held.Load() {
				looking <- true
				<-goOn
			}
			return Figures{}
		})
		first := b.Join([]Key{key(1)})
		<-looking
		b.Leave(first)
		second := b.Join([]Key{key(1)}) // another run, while the first one's look is not over
		held.Store(false)
		goOn <- true
		for range 3 {
			<-second.Messages
		}
		if n := looks.Load(); n != 1+3 {
			t.Errorf("%d looks for 1 slot of the first and 3 of the second", n)
		}
		b.Leave(second)
	})
}

// A viewer that does not read is dropped; the others go on.
func TestSlowViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, looks := counting()
		slow, other := b.Join([]Key{key(1)}), b.Join([]Key{key(1)})
		for range queueSize + 3 {
			<-other.Messages
		}
		synctest.Wait()
		read := 0
		for range slow.Messages { // it is closed behind what was queued
			read++
		}
		if read != queueSize || len(b.viewers) != 1 {
			t.Errorf("%d messages were kept for it, %d viewers are left", read, len(b.viewers))
		}
		b.Leave(slow)
		b.Leave(other)
		n := looks.Load()
		time.Sleep(time.Minute)
		if looks.Load() != n {
			t.Error("looks go on")
		}
	})
}

// A look that panics ends neither the node nor the others' figures.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBoard(time.Now, func(_ time.Time, k Key) Figures {
			if k == key(1) {
				panic("a fault")
			}
			return Figures{Prefix: k.Prefix}
		})
		v := b.Join([]Key{key(1), key(2)})
		if m := <-v.Messages; string(m.Figures[0]) != "null" || string(m.Figures[1]) == "null" {
			t.Errorf("%s", m.Figures)
		}
		b.Leave(v)
	})
}

// The last viewer's being dropped ends the run.
func TestLastDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, looks := counting()
		b.Join([]Key{key(1)})
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := looks.Load(); n != queueSize+1 || b.run != nil {
			t.Errorf("%d looks, run %v", n, b.run)
		}
	})
}
