package fleet

import (
	"strings"
	"testing"
	"time"
)

// Evictions alarm when they happen, with their number, until ten minutes have
// passed without one. What was evicted before the first look is not news.
func TestEvictions(t *testing.T) {
	var e Evictions
	for _, step := range []struct {
		at      time.Duration
		evicted int64
		policy  string
		want    string
	}{
		{0, 500, "", ""},
		{10 * time.Second, 500, "", ""},
		{20 * time.Second, 530, "", "evicted 30 keys"},
		{30 * time.Second, 530, "", "evicted 30 keys"},
		{40 * time.Second, 531, "", "evicted 31 keys"},
		{50 * time.Second, 2, "allkeys-lru", "evicted 31 keys"}, // restarted
		{60 * time.Second, 4, "", "evicted 33 keys"},
		{60*time.Second + evictionLasts - 1, 4, "", "evicted 33 keys"},
		{60*time.Second + evictionLasts, 4, "", ""},
		{61*time.Second + evictionLasts, 4, "allkeys-lru", "maxmemory-policy allkeys-lru"},
		{62*time.Second + evictionLasts, 5, "allkeys-lru", "evicted 1 keys"},
	} {
		got := e.AlarmText(joinStart.Add(step.at), step.evicted, step.policy)
		if (got == "") != (step.want == "") || !strings.Contains(got, step.want) {
			t.Errorf("after %v: %q, want %q", step.at, got, step.want)
		}
	}
}
