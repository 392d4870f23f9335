package fleetlink

import (
	"testing"
	"time"

	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/node/overlay"
	"edgeguard/node/pipeline"
	"edgeguard/shard"
)

// When the process before ended is of use to this process's first link only: a later
// one would take this process's own heartbeats for another's.
func TestStoppedIsOfTheFirstLink(t *testing.T) {
	c, err := config.Parse("f", []byte("fleet: {redis: 'redis://127.0.0.1:1'}"))
	if err != nil {
		t.Fatal(err)
	}
	f := New(Config{Clock: clockguard.New(clockguard.Read(), clockguard.Config{}), Thresholds: func() overlay.FleetPart { return overlay.FleetPart{} }, Boot: 0xab})
	stopped := time.Unix(1_700_000_000, 0)
	f.peer.boot.stopped = stopped
	first, key := f.config(c)
	if !first.Stopped.Equal(stopped) || first.Boot != "00000000000000ab" || first.Run != "000000ab" {
		t.Errorf("the first link has %v, %s, %s", first.Stopped, first.Boot, first.Run)
	}
	later, same := f.config(c)
	if !later.Stopped.IsZero() || key != same {
		t.Errorf("a later link follows %v, and is another: %v", later.Stopped, key != same)
	}
}

// A node that has just left its fleet has no meter of it: an explanation that began
// before may still ask.
func TestWidthOfANodeAlone(t *testing.T) {
	c := config.Default()
	pipe := pipeline.New(pipeline.Config{Memory: shard.NewMemory(16 << 20), List: blocklist.New(blocklist.Config{})}, c)
	t.Cleanup(pipe.Close)
	if width := (&peer{Config: Config{Pipeline: pipe}}).Width(1); width != 0 {
		t.Errorf("%d s", width)
	}
}
