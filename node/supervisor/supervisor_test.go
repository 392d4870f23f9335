package supervisor

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/node/alarm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Settle starts what is new, ends what is gone first, and leaves alone what
// stayed.
func TestServicesSettle(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}
	make := func(keys ...string) (all []*fakeService) {
		for _, key := range keys {
			all = append(all, &fakeService{key, tell})
		}
		return all
	}
	p := Group[*fakeService]{Config: Config{Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {}), Now: time.Now}}
	shown := func() (keys []string) {
		for _, s := range p.All() {
			keys = append(keys, s.key)
		}
		return keys
	}
	p.Settle(t.Context(), make("a", "b"))
	p.Settle(t.Context(), make("b", "c", "b"))
	if got := shown(); !slices.Equal(got, []string{"b", "c", "b"}) {
		t.Errorf("shown: %v", got)
	}
	p.Stop()
	p.Stop()
	if got := shown(); len(got) != 0 {
		t.Errorf("shown after the end: %v", got)
	}
	slices.Sort(told)
	want := []string{"a begins", "a ends", "b begins", "b ends", "c begins", "c ends"}
	if !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
}

// fakeService reports when it begins and ends.
type fakeService struct {
	key  string
	tell func(string)
}

func (s *fakeService) Key() string             { return s.key }
func (s *fakeService) Alarm() (string, string) { return "test", s.key }
func (s *fakeService) Report(*admin.Stats)     {}
func (s *fakeService) Run(ctx context.Context, _ func()) error {
	s.tell(s.key + " begins")
	<-ctx.Done()
	s.tell(s.key + " ends")
	return nil
}
