package tuning

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Unix(1_700_000_000, 0).Truncate(24 * time.Hour).Add(12 * time.Hour)

func distribution(values ...uint32) *Distribution {
	d := new(Distribution)
	for _, v := range values {
		d.Add(v)
	}
	return d
}

// look does what a node does once a second.
func (h *History) look(now time.Time, meters []Meter, counts func(Meter) *Distribution) (looks int) {
	for m, ok := h.NextDue(now, meters); ok; m, ok = h.NextDue(now, meters) {
		h.NoteCounts(now, m, counts(m))
		looks++
	}
	return looks
}

// seen is a look that the test remembers.
type seen struct {
	at    time.Time
	value uint32
}

// What is kept is, of each step, the window that counted most: as a search through
// all looks finds it. Hours without a look are missing, and nothing else is.
func TestAgainstAllLooks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	meters := []Meter{{"a", time.Minute}, {"b", 2 * time.Minute}, {"c", 5 * time.Minute}, {"c", 10 * time.Minute}, {"d", time.Hour}}
	for range 5 {
		var h History
		now, begun := noon.Add(time.Duration(r.IntN(7200))*time.Second), make(map[Meter]time.Time)
		all, before := make(map[Meter][]seen), make(map[Meter]int64)
		for range 3000 {
			if r.IntN(500) == 0 { // the node was stopped, or its clock was set forward
				now = now.Add(time.Duration(r.IntN(36000)) * time.Second)
			}
			now = now.Add(time.Duration(1+r.IntN(60)) * time.Second)
			values := make(map[Meter]uint32)
			for _, m := range meters {
				values[m] = uint32(r.IntN(5)) // often as much as the window before, and often nothing
				number := now.Unix() / int64(m.Window.Seconds())
				if last, known := before[m]; !known || number > last+1 {
					begun[m] = now
				} else if number != last && now.Sub(begun[m]) >= m.Window {
					all[m] = append(all[m], seen{now, values[m]})
				}
				before[m] = number
			}
			h.look(now, meters, func(m Meter) *Distribution {
				return distribution(slices.Repeat([]uint32{values[m]}, min(int(values[m]), 1))...)
			})
		}
		for _, m := range meters {
			checkAgainst(t, &h, m, now, all[m])
		}
	}
}

func checkAgainst(t *testing.T, h *History, m Meter, now time.Time, all []seen) {
	t.Helper()
	best := make(map[int64]seen)
	for _, one := range all {
		step := int64(max(m.Window, 5*time.Minute).Seconds())
		if place := (one.at.Unix() - int64(m.Window.Seconds())) / step * step; one.value >= best[place].value {
			best[place] = one
		}
	}
	windows, step := h.Windows(now, m, Length)
	if step != max(m.Window, 5*time.Minute) {
		t.Errorf("%v: the step is %v", m, step)
	}
	for i, w := range windows {
		want, ok := best[w.From.Unix()]
		if !ok || !want.at.Equal(w.At) || w.Counts.Max() != want.value || i > 0 && !w.From.After(windows[i-1].From) {
			t.Fatalf("%v: %v at %v with %d, want %+v", m, w.From, w.At, w.Counts.Max(), want)
		}
		delete(best, w.From.Unix())
	}
	for from, one := range best {
		if one.at.After(now.Add(-Length)) {
			t.Fatalf("%v: the window at %v (%d) is missing", m, one.at, from)
		}
	}
	if len(windows) > int(Length/step)+1 {
		t.Errorf("%v: %d windows are kept", m, len(windows))
	}
}

// each runs a history from one instant to another, a look each second.
func (h *History) each(from, to time.Time, meters []Meter, counts *Distribution) (looks int) {
	for now := from; now.Before(to); now = now.Add(time.Second) {
		looks += h.look(now, meters, func(Meter) *Distribution { return counts })
	}
	return looks
}

// starts returns when the windows began, from noon on.
func starts(windows []Window) (from []time.Duration) {
	for _, w := range windows {
		from = append(from, w.From.Sub(noon))
	}
	return from
}

func minutes(of ...int) (all []time.Duration) {
	for _, m := range of {
		all = append(all, time.Duration(m)*time.Minute)
	}
	return all
}

// One look in each window, and none of a window that was not whole.
func TestOneLookAWindow(t *testing.T) {
	var h History
	site := []Meter{{"site", 5 * time.Minute}}
	if looks := h.each(noon.Add(2*time.Minute), noon.Add(22*time.Minute+time.Second), site, distribution(7)); looks != 3 {
		t.Errorf("%d looks in 20 minutes", looks)
	}
	windows, _ := h.Windows(noon.Add(22*time.Minute), site[0], Length)
	if want := minutes(5, 10, 15); !slices.Equal(starts(windows), want) {
		t.Errorf("windows from %v, want %v", starts(windows), want)
	}
}

// An hour in which the node was stopped is a gap, and so is one that a clock left
// out; one that a clock goes through twice is kept as it was the second time.
func TestGapsAndSteps(t *testing.T) {
	site := []Meter{{"site", 5 * time.Minute}}
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	var h History
	h.each(at(0), at(16), site, distribution(7))
	h.each(at(76), at(91), site, distribution(8)) // forward
	windows, _ := h.Windows(at(91), site[0], Length)
	if want := minutes(0, 5, 10, 80, 85); !slices.Equal(starts(windows), want) {
		t.Errorf("windows from %v, want %v", starts(windows), want)
	}
	h.each(at(31), at(46), site, distribution(9)) // back
	windows, _ = h.Windows(at(46), site[0], Length)
	if want := minutes(0, 5, 10, 35, 40); !slices.Equal(starts(windows), want) || windows[3].Counts.Max() != 9 {
		t.Errorf("after a clock went back: windows from %v, want %v", starts(windows), want)
	}
	var small History
	small.each(at(0), at(5).Add(2*time.Second), site, distribution(7))
	if looks := small.each(at(5).Add(-2*time.Second), at(6), site, distribution(3)); looks != 0 {
		t.Errorf("%d looks, because the clock went back for two seconds", looks)
	}
}

// What was saved is what is loaded; after a short stop windows go on, and after a
// long one the first that is not whole is left out.
func TestRestore(t *testing.T) {
	for stop, next := range map[time.Duration]int{10 * time.Second: 35, time.Hour: 95 + 5} {
		site, short := Meter{"site", 5 * time.Minute}, Meter{"short", time.Minute}
		meters := []Meter{site, short}
		var h, after History
		h.each(noon, noon.Add(33*time.Minute), meters, distribution(1, 5, 5, 300))
		begins := noon.Add(33*time.Minute + stop)
		for m, w := range h.AllWindows() {
			if err := after.Restore(begins, m, w.At, w.Counts); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range meters {
			was, _ := h.Windows(begins, m, Length)
			is, _ := after.Windows(begins, m, Length)
			if !slices.EqualFunc(was, is, func(a, b Window) bool {
				return a.From.Equal(b.From) && a.At.Equal(b.At) && slices.Equal(a.Counts, b.Counts)
			}) || len(is) == 0 {
				t.Errorf("%v: %v became %v", m, was, is)
			}
		}
		if after.Bytes() != h.Bytes() || h.Bytes() == 0 {
			t.Errorf("%d bytes became %d", h.Bytes(), after.Bytes())
		}
		after.each(begins, noon.Add(time.Duration(next)*time.Minute+time.Second), meters, distribution(2))
		windows, _ := after.Windows(noon.Add(24*time.Hour), site, Length)
		if last := windows[len(windows)-1]; !last.At.Equal(noon.Add(time.Duration(next)*time.Minute)) || len(windows) != 7 {
			t.Errorf("after %v: %d windows, the last at %v, want one at %d min", stop, len(windows), last.At.Sub(noon), next)
		}
	}
}

// What is restored must be a distribution of the last day, whatever the file says.
func TestRestoreRefuses(t *testing.T) {
	var h History
	m, good := Meter{"site", 5 * time.Minute}, distribution(1, 2, 3).Sparse()
	if err := h.Restore(noon, m, noon, []byte{0, 200}); err == nil {
		t.Error("restored what is no distribution")
	}
	for _, at := range []time.Time{noon.Add(time.Second), noon.Add(-Length), {}} {
		if err := h.Restore(noon, m, at, good); err != nil {
			t.Error(err)
		}
	}
	_ = h.Restore(noon, Meter{"none", 0}, noon, good)
	if h.Bytes() != 0 {
		t.Errorf("%d bytes are kept", h.Bytes())
	}
}

// The memory has a bound: in meters, in windows, and in the bytes of each.
func TestBounds(t *testing.T) {
	full := new(Distribution)
	for v := uint32(1); v < 1<<31; v += max(1, v/40) {
		full.AddN(v, 1<<20)
	}
	var meters []Meter
	for i := range MaxMeters + 8 {
		meters = append(meters, Meter{string(rune('A' + i)), 5 * time.Minute})
	}
	var h History
	last := noon
	for now := noon; now.Before(noon.Add(26 * time.Hour)); now = now.Add(5 * time.Minute) {
		h.look(now, meters, func(Meter) *Distribution { return full })
		last = now
	}
	for i, m := range meters {
		windows, _ := h.Windows(last, m, Length)
		if want := 288; i < MaxMeters && len(windows) != want || i >= MaxMeters && len(windows) > 0 {
			t.Errorf("of meter %d %d windows are kept", i, len(windows))
		}
	}
	if most := int64(MaxMeters * 288 * (maxSparse + 72)); h.Bytes() > most || h.Bytes() < most/4 {
		t.Errorf("%d bytes, at most %d", h.Bytes(), most)
	}
	if h.look(last.Add(time.Second), meters[:1], nil); h.Bytes() > 288*(maxSparse+72) {
		t.Errorf("%d bytes are kept of one meter", h.Bytes())
	}
}
