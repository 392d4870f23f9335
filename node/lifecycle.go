package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/config"
	"edgeguard/node/overlay"
)

// lifecycle is whether the node runs, and how its reloads went.
type lifecycle struct {
	begun   time.Time // when the node was made, local
	ready   atomic.Bool
	reloads reloads
	systemd notifier

	changing sync.Mutex      // guards base and overlay.On; held by a reload, and at the start and the end
	base     context.Context // of all services; nil while the node is not running
	overlay  *overlay.Control
}

// modeName returns the mode as the config writes it.
func modeName(c *config.Config) string {
	if c.Monitor {
		return "monitor"
	}
	return "enforce"
}
