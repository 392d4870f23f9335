package neighbours

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgeguard/node/alarm"
)

// twin is what a list does as one would write it first. Prefixes are sorted texts.
type twin struct {
	known bool // there is a good list
	good  []string
	at    time.Time
	waits []string  // nil for none
	kept  time.Time // what at is on disk
}

// hears takes a list in that was fetched.
func (w *twin) hears(now time.Time, list []string, most int) {
	moved := 0
	for _, p := range slices.Concat(w.good, list) {
		if slices.Contains(w.good, p) != slices.Contains(list, p) {
			moved++
		}
	}
	same := w.known && moved == 0
	if !same && (len(list) == 0 || len(list) > most || w.known && len(w.good) > 0 && 2*moved > len(w.good)) {
		w.waits = list
		return
	}
	w.accepts(now, list)
}

func (w *twin) accepts(now time.Time, list []string) {
	*w = twin{known: true, good: list, at: now, kept: now}
}

// renews notes that the source still has the list.
func (w *twin) renews(now time.Time) {
	w.waits, w.at = nil, now
	if now.Sub(w.kept) >= rarely {
		w.kept = now
	}
}

// Whatever a source answers, an operator confirms and time does, over restarts and other
// URLs: what is in force, what awaits confirmation and what has become stale is what the
// naive twin has.
func TestAgainstTwin(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { history(t, rand.New(rand.NewPCG(seed, 52)), seed) })
	}
}

func history(t *testing.T, random *rand.Rand, seed uint64) {
	r, w := newRig(t), &twin{}
	r.config.Stale, r.config.Most = 5*time.Hour, 12
	r.marked = random.IntN(2) == 0
	stop := r.start()
	defer func() { stop() }()
	heard := 0
	var did []string
	for range 60 {
		switch random.IntN(9) {
		case 0, 1:
			r.play("", errors.New("no route"))
			did = append(did, "fails")
		case 2:
			r.play(list(random.IntN(12), random.IntN(16))+"# nothing else\n", nil)
			did = append(did, fmt.Sprintf("plays %d lines", strings.Count(r.text, "\n")-1))
		case 3:
			r.play(list(0, 8), nil)
			did = append(did, "plays 8 lines")
		case 4:
			r.play(list(0, 9), nil)
			did = append(did, "plays 9 lines")
		case 5:
			if err := r.services.Confirm("drop"); (err == nil) != (w.waits != nil) {
				t.Fatalf("seed %d: confirm: %v, but %v waits: %v", seed, err, w.waits, did)
			}
			if w.waits != nil {
				w.accepts(time.Now(), w.waits)
			}
			did = append(did, "confirms")
		case 6:
			stop()
			if random.IntN(3) == 0 {
				r.config.URL += "x"
				*w = twin{}
				did = append(did, "another url")
			}
			w.waits, w.at = nil, w.kept
			stop = r.start()
			did = append(did, "restarts")
		case 7:
			time.Sleep(time.Duration(random.IntN(7)) * time.Hour)
			synctest.Wait()
			did = append(did, "long time")
		}
		time.Sleep(time.Duration(random.IntN(90)) * time.Minute)
		synctest.Wait()
		heard = w.follow(r, heard)
		if text := w.wrong(r); text != "" {
			t.Fatalf("seed %d: %s after %v", seed, text, did)
		}
	}
}

// follow tells the twin of what was fetched since.
func (w *twin) follow(r *rig, heard int) int {
	for _, f := range r.fetched[heard:] {
		switch {
		case f.err:
		case f.same:
			w.renews(f.at)
		default:
			all := []string{}
			for line := range strings.Lines(f.text) {
				if one, _, is := strings.Cut(line, " ;"); is {
					all = append(all, one+"/32")
				}
			}
			slices.Sort(all)
			w.hears(f.at, all, r.config.Most)
		}
	}
	return len(r.fetched)
}

// wrong returns how the service differs from the twin.
func (w *twin) wrong(r *rig) string {
	now := time.Now()
	stale := w.known && now.Sub(w.at) >= r.config.Stale
	want := ""
	if !stale {
		want = strings.Join(w.good, " ")
	}
	if got := r.blocked(); got != want {
		return fmt.Sprintf("blocked: %s, want %s", got, want)
	}
	for kind, lasts := range map[string]bool{alarm.BlocklistWaits: w.waits != nil, alarm.BlocklistStale: stale} {
		got := false
		for _, a := range r.alarms.Lasting() {
			got = got || a.Kind == kind
		}
		if got != lasts {
			return fmt.Sprintf("alarm %s: %t, want %t", kind, got, lasts)
		}
	}
	if f := r.services.Feeds()[0]; (f.Awaits != nil) != (w.waits != nil) || f.Awaits != nil && f.Awaits.Entries != len(w.waits) {
		return fmt.Sprintf("awaits %+v, want %v", f.Awaits, w.waits)
	}
	addr := netip.MustParseAddr("5.0.0.3")
	if standing, _ := r.set.FindHit(now, addr); (standing.String() == "blocked") != strings.Contains(want+" ", "5.0.0.3/32 ") {
		return "5.0.0.3 is " + standing.String()
	}
	return ""
}
