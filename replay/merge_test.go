package replay_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/replay"
)

// batches is a source of the given batches, which ends with err. As a sensor
// may, it reuses its memory: a batch dies with the next call.
type batches struct {
	left [][]edgeguard.Event
	last []edgeguard.Event
	err  error
}

func (b *batches) Next() ([]edgeguard.Event, error) {
	clear(b.last)
	if len(b.left) == 0 {
		return nil, b.err
	}
	b.last = slices.Clone(b.left[0])
	b.left = b.left[1:]
	return b.last, nil
}

// drain reads a source to its end.
func drain(t *testing.T, s replay.Source) (events []edgeguard.Event, err error) {
	t.Helper()
	for range 1 << 20 {
		batch, err := s.Next()
		events = append(events, batch...)
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
	}
	t.Fatal("the source does not end")
	return nil, nil
}

// randomSource makes a source whose times go mostly forward.
func randomSource(r *rand.Rand, name string) (source *batches, events []edgeguard.Event) {
	at := time.Unix(1_700_000_000, 0)
	source = &batches{err: io.EOF}
	for range r.IntN(8) {
		var batch []edgeguard.Event
		for range r.IntN(6) {
			at = at.Add(time.Duration(r.IntN(10)-2) * time.Second)
			batch = append(batch, edgeguard.Event{Time: at, Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Node: name, Path: fmt.Sprint(len(events))})
			events = append(events, batch[len(batch)-1])
		}
		source.left = append(source.left, batch)
	}
	return source, events
}

// TestMerge holds Merge against the obvious way: take, again and again, the
// oldest of the heads.
func TestMerge(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		var sources []replay.Source
		var logs [][]edgeguard.Event
		for i := range 1 + r.IntN(4) {
			s, events := randomSource(r, fmt.Sprint(i))
			sources, logs = append(sources, s), append(logs, events)
		}
		got, err := drain(t, replay.Merge(sources...))
		if err != nil {
			t.Fatal(err)
		}
		var want []edgeguard.Event
		for {
			best := -1
			for i := range logs {
				if len(logs[i]) > 0 && (best < 0 || logs[i][0].Time.Before(logs[best][0].Time)) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			want = append(want, logs[best][0])
			logs[best] = logs[best][1:]
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d events, want %d", seed, len(got), len(want))
		}
		for i := range got {
			if got[i].Node != want[i].Node || got[i].Path != want[i].Path {
				t.Fatalf("seed %d, event %d: %s of %s, want %s of %s", seed, i, got[i].Path, got[i].Node, want[i].Path, want[i].Node)
			}
		}
	}
}

// TestMergeError: a source that fails does not stop the others, and its error
// comes last.
func TestMergeError(t *testing.T) {
	broken := errors.New("broken")
	at := time.Unix(1_700_000_000, 0)
	event := edgeguard.Event{Time: at}
	a := &batches{left: [][]edgeguard.Event{{event}}, err: broken}
	b := &batches{left: [][]edgeguard.Event{{event}, {event, event}}, err: io.EOF}
	events, err := drain(t, replay.Merge(a, b))
	if len(events) != 4 || !errors.Is(err, broken) {
		t.Errorf("%d events and %v, want 4 and the error", len(events), err)
	}
}

// TestSort: the events come by time, those of one time in the order of the
// file, with their texts kept past their batch.
func TestSort(t *testing.T) {
	for range 100 {
		seed := rand.Uint64()
		source, want := randomSource(rand.New(rand.NewPCG(seed, 0)), "n")
		slices.SortStableFunc(want, func(a, b edgeguard.Event) int { return a.Time.Compare(b.Time) })
		got, err := drain(t, replay.SortByTime(source, 0))
		if err != nil || len(got) != len(want) {
			t.Fatalf("seed %d: %d events and %v, want %d", seed, len(got), err, len(want))
		}
		for i := range got {
			if got[i].Path != want[i].Path || got[i].Node != "n" {
				t.Fatalf("seed %d, event %d: %q, want %q", seed, i, got[i].Path, want[i].Path)
			}
		}
	}
}

// TestSortError: the events before an error are not lost.
func TestSortError(t *testing.T) {
	broken := errors.New("broken")
	s := replay.SortByTime(&batches{left: [][]edgeguard.Event{make([]edgeguard.Event, 3)}, err: broken}, 0)
	if events, err := drain(t, s); len(events) != 3 || !errors.Is(err, broken) {
		t.Errorf("%d events and %v, want 3 and the error", len(events), err)
	}
}

// TestSortLimit: what does not fit is said before the first event is given.
func TestSortLimit(t *testing.T) {
	source := func() *batches {
		b := &batches{err: io.EOF}
		for i := range 5000 {
			b.left = append(b.left, []edgeguard.Event{{Path: strconv.Itoa(i)}, {Path: "/"}})
		}
		return b
	}
	if events, err := drain(t, replay.SortByTime(source(), 1<<20)); len(events) != 0 || !errors.Is(err, replay.ErrTooLarge) {
		t.Errorf("in 1 MiB: %d events, %v", len(events), err)
	}
	if events, err := drain(t, replay.SortByTime(source(), 16<<20)); len(events) != 10_000 || err != nil {
		t.Errorf("in 16 MiB: %d events, %v", len(events), err)
	}
}
