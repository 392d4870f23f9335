package watch

import (
	"encoding/json"
	"net/netip"
	"time"

	"edgeguard/internal/words"
)

// Watched is one message of the stream watch.
type Watched struct {
	Time    time.Time `json:"time"`
	Figures []Figures `json:"figures"` // in the order of the parameters
}

// Figures is what a prefix counts now, and its block.
type Figures struct {
	Prefix netip.Prefix `json:"prefix"`
	// Rule is whose counts these are: the one asked for, else the block's, else the
	// nearest to its limit; empty where no rule counts the prefix as one key.
	Rule  string        `json:"rule,omitempty"`
	Count uint32        `json:"count"`
	Limit uint32        `json:"limit"`
	Unit  words.Measure `json:"unit,omitzero"`
	// Slots are the newest, the oldest of them first. SlotBegan is when the last one
	// began, Window the span of sixty.
	Slots     []uint16  `json:"slots,omitempty"`
	SlotBegan time.Time `json:"slot_began,omitzero"`
	Window    int       `json:"window_seconds,omitempty"`
	// Until is the end of the narrowest block that contains the prefix; absent for
	// none. Refused and RefusedBy are as of a block.
	Until     time.Time `json:"until,omitzero"`
	Refused   *uint32   `json:"refused,omitempty"`
	RefusedBy string    `json:"refused_by,omitempty"`
}

// encode returns figures as JSON, which all viewers share.
func encode(f Figures) json.RawMessage {
	encoded, err := json.Marshal(f)
	if err != nil { // only a node's odd time can do this
		return json.RawMessage("null")
	}
	return encoded
}

// Message is the figures of a viewer's keys at one time: [Watched], with figures
// that are JSON already and shared by all viewers.
type Message struct {
	Time    time.Time         `json:"time"`
	Figures []json.RawMessage `json:"figures"`
}
