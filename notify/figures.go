package notify

import "time"

// Figures is what a node says of one receiver of notifications. The counters count up from when the config had it, or it was
// changed.
type Figures struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "webhook" or "alertmanager"
	// Sent are posts that the receiver accepted, Failed those that it did not: each try
	// counts. Dropped are blocks and alarms that were given up.
	Sent    uint64 `json:"sent"`
	Failed  uint64 `json:"failed"`
	Dropped uint64 `json:"dropped"`
	// Waiting is how many blocks wait for the next message, or how many alerts an
	// Alertmanager is to have.
	Waiting int       `json:"waiting"`
	Error   string    `json:"error,omitempty"`       // of the last post, empty if it was accepted
	Success time.Time `json:"last_success,omitzero"` // the last time the receiver accepted something
}
