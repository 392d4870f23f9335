package node

import (
	"log/slog"

	"edgeguard/config"
)

// Options are what a node is given besides its config. The zero value is
// ready.
type Options struct {
	// Log gets one line per block and per change of state. Nil disables it.
	Log *slog.Logger
	// Load reads the config for a reload. Without it a reload is refused.
	Load func() (*config.Config, error)
	// Reloaded is called with the config that a reload has put in force.
	Reloaded func(*config.Config)
	// Ready is called once, when the node answers.
	Ready func()
	// Version is shown by the admin API.
	Version string
}
