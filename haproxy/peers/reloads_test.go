package peers

import (
	"fmt"
	"testing"
	"time"
)

// reloading is a HAProxy that is reloaded again and again, and what was counted of it.
type reloading struct {
	*world
	every  time.Duration
	next   time.Time // the next reload
	teach  time.Time // when the last process to end teaches its heir
	slow   int       // the most milliseconds that this takes
	killed int       // one reload of so many is a kill instead; 0: none
}

// step is a step of a HAProxy that is reloaded in time: its reads are apart as those of
// edgeguard are, and one request of twenty within a second of a reload comes to the old process.
func (w *reloading) step() {
	w.now = w.now.Add(time.Duration(1+w.r.IntN(40)) * time.Millisecond)
	if !w.now.Before(w.next) {
		w.next = w.now.Add(w.every)
		if w.killed > 0 && w.chance(w.killed) {
			w.restartHAProxy()
		} else {
			w.reload()
			w.teach = w.now.Add(time.Duration(1+w.r.IntN(w.slow)) * time.Millisecond)
		}
	}
	if n := len(w.old); n > 0 && !w.old[n-1].taught && !w.now.Before(w.teach) {
		w.old[n-1].teach(w.live)
	}
	for range w.r.IntN(3) {
		p := w.live
		if n := len(w.old); n > 0 && w.now.Sub(w.old[n-1].ended) < time.Second && w.chance(20) {
			p = w.old[n-1]
		}
		w.requestAt(p, w.r.IntN(w.opts.keys))
	}
	w.learn()
	w.read(8)
}

// lacks is how many requests of a window are not counted, of how many, though edgeguard was
// shown them and HAProxy did not lose them. Those of the window's first part of so much may be
// taken for older than it.
func (w *world) lacks(window, part time.Duration) (lacks, of int) {
	have := w.counted(window)
	for at, all := range w.asked {
		shown := 0
		for _, one := range all {
			if w.now.Sub(one.at) < window-part {
				of++
				if one.shown {
					shown++
				}
			}
		}
		lacks += max(0, shown-have[at])
	}
	return lacks, of
}

// lost is how many requests no table has that edgeguard was or will be shown.
func (w *world) lost() (n int) {
	left := map[*asked]bool{}
	for _, e := range w.live.table {
		for _, all := range e.of {
			for _, one := range all {
				left[one] = true
			}
		}
	}
	for _, all := range w.asked {
		for _, one := range all {
			if !one.shown && !left[one] {
				n++
			}
		}
	}
	return n
}

// TestReloads reloads HAProxy for ten minutes and more. In no window is more counted than was
// requested, and nothing less than HAProxy showed: it loses what an old process counts when its
// heir has its table, and what the heir counted before, where that was not read.
func TestReloads(t *testing.T) {
	if testing.Short() {
		t.Skip("only computes: the same on every machine")
	}
	const late = 1500 * time.Millisecond // what is read so soon after a reload may be taken for as old as that
	for _, every := range []time.Duration{time.Second, 2 * time.Second, 8 * time.Second, 30 * time.Second, 75 * time.Second} {
		for name, killed := range map[string]int{"": 0, ", some of them kills": 3} {
			t.Run(fmt.Sprintf("every %v%s", every, name), func(t *testing.T) {
				t.Parallel()
				few := 2000 // 0.05 %
				if killed > 0 {
					few = 50 // the first read of a process may have what the one before has had
				}
				have, want, lost, worst := 0, 0, 0, map[time.Duration]float64{}
				for seed := range uint64(max(runs/60, 1)) {
					w := &reloading{world: newWorld(t, seed, options{keys: 40, size: 100, room: 100}), every: every, slow: 100, killed: killed}
					w.next = w.now.Add(10 * time.Second)
					check := w.now.Add(time.Minute)
					for end := w.now.Add(11 * time.Minute); w.now.Before(end); {
						if w.step(); w.now.Before(check) {
							continue
						}
						check = w.now.Add(17 * time.Second)
						w.check()
						for _, window := range []time.Duration{time.Minute, 5 * time.Minute} {
							lacks, of := w.lacks(window, late)
							if worst[window] = max(worst[window], float64(lacks)/float64(of)); few*lacks > of {
								t.Fatalf("seed %d: %d of %d requests within %v are not counted", seed, lacks, of, window)
							}
						}
					}
					w.next = w.now.Add(time.Hour)
					for range 1000 {
						w.step()
					}
					h, n := w.sums()
					have, want, lost = have+h, want+n, lost+w.lost()
				}
				t.Logf("%d of %d counted; HAProxy lost %d; at most %.3f %% of a minute and %.3f %% of 5 minutes are not counted", have, want, lost, 100*worst[time.Minute], 100*worst[5*time.Minute])
				if lack := want - lost - have; lack < 0 || few*lack > want {
					t.Errorf("%d of %d counted, and HAProxy lost %d", have, want, lost)
				}
			})
		}
	}
}
