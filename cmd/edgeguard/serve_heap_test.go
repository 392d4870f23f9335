package main

import (
	"runtime/debug"
	"testing"

	"edgeguard/config"
)

// Where Envoys ask, the collector lets be what their connections may take.
func TestBoundHeap(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	bound := func(listeners config.EnvoyListeners) int64 {
		c := config.Config{}
		c.Listen.Envoy = listeners
		boundHeap(&c)
		return debug.SetMemoryLimit(-1)
	}
	if more := bound(config.EnvoyListeners{{Connections: 64}, {Connections: 10}}) - bound(nil); more != 74*config.EnvoyConnectionBytes {
		t.Errorf("%d bytes more", more)
	}
}
