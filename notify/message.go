package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"edgeguard/internal/words"
)

// What a node tells people of itself: blocks, alarms and what awaits confirmation, in a
// documented form, and how much of it a flood may make. It reads no clock and sends nothing.

// messageVersion is that of the form. A field that is added keeps it; one whose meaning changes
// or that leaves raises it.
const messageVersion = 1

// The kinds of a message.
const (
	kindAttack       = "attack"             // an attack has begun
	kindBlock        = "block"              // a block was made that is of no attack
	kindAlarm        = "alarm"              // an alarm began, or says something else
	kindEnded        = "alarm_ended"        // an alarm is not active any more
	kindConfirmation = "confirmation"       // something awaits an operator
	kindConfirmed    = "confirmation_ended" // nothing of it awaits one any more
	kindSummary      = "summary"            // many of these, as numbers and some examples
	kindTest         = "test"               // an operator asked for it
)

// Message is one thing that happened. Its texts are [harmless].
type Message struct {
	ID     string `json:"id"`
	Time   string `json:"time"` // RFC 3339, UTC
	Node   string `json:"node"`
	Kind   string `json:"kind"`
	Text   string `json:"text"` // a sentence for people
	Fields Fields `json:"fields"`
}

// Fields are the parts of a message for programs. Those that a kind does not have are
// empty and left out.
type Fields struct {
	// Of a block, and of an attack: of the first of its blocks.
	Attack string `json:"attack,omitempty"` // its ID
	Prefix string `json:"prefix,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	Origin string `json:"origin,omitempty"` // the node that made it
	Count  uint32 `json:"count,omitempty"`
	Limit  uint32 `json:"limit,omitempty"`
	// Unit is what these two are of, where it is known.
	Unit    words.Measure `json:"unit,omitzero"`
	Until   string        `json:"until,omitempty"`
	Monitor bool          `json:"monitor,omitempty"` // nothing is enforced
	// Of an alarm: its kind, and the log, listener or rule that it is about.
	Alarm string `json:"alarm,omitempty"`
	About string `json:"about,omitempty"`
	Since string `json:"since,omitempty"` // also of a summary
	// Of a summary: how many attacks and blocks, by which rules, and some of them; how many alarms
	// began and ended that are not in messages of their own.
	Blocks   int      `json:"blocks,omitempty"`
	Rules    []ByRule `json:"rules,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Began    int      `json:"began,omitempty"`
	Ended    int      `json:"ended,omitempty"`
}

// ByRule is how many attacks a rule found, or blocks a program made.
type ByRule struct {
	Rule   string `json:"rule"`
	Blocks int    `json:"blocks"`
}

// Batch is what one receiver is sent together. Its fields for programs have the form
// of [Batch.JSON].
type Batch struct {
	Type      string    `json:"type"`
	Version   int       `json:"version"`
	ID        string    `json:"id"` // the same in every retry
	Timestamp string    `json:"timestamp"`
	Node      string    `json:"node"`
	Text      string    `json:"text"` // the messages' texts, a line each
	Dropped   uint64    `json:"dropped"`
	Messages  []Message `json:"messages"`

	made time.Time               // local, for its age
	told map[messageSubject]told // what the book knew before of what is told here
}

// Made returns when the batch was made, by the clock that made it. Operators' templates may
// call it.
func (b *Batch) Made() time.Time { return b.made }

// JSON returns the batch in its documented form.
func (b *Batch) JSON() ([]byte, error) { return json.Marshal(b) }

// Names is what names a node's messages: its name, and a text that no other run of it
// has.
type Names struct {
	Node, Run string
	// Epoch returns the wall-clock time of a local one.
	Epoch func(time.Time) time.Time
	// Unit returns what the figures of a node's rule are of; the zero one if that is not known, and nil
	// where none are told.
	Unit func(rule, origin string) words.Measure
}

// instant returns a local time as messages have it.
func (n *Names) instant(t time.Time) string { return n.Epoch(t).UTC().Format(time.RFC3339) }

// clock returns a local time as a sentence has it.
func (n *Names) clock(t time.Time) string { return n.Epoch(t).UTC().Format("15:04 UTC") }

// batch returns messages as a batch, numbered from the receiver's name and its count
// of batches on.
func (n *Names) batch(now time.Time, receiver string, number uint64, dropped uint64, all []Message) *Batch {
	b := &Batch{
		Type: "edgeguard.notification", Version: messageVersion, Timestamp: n.instant(now), Node: harmless(n.Node), Dropped: dropped, Messages: all, made: now,
		ID: fmt.Sprintf("msg_%s_%s_%d", n.Run, receiver, number),
	}
	texts := make([]string, len(all))
	for i := range all {
		m := &all[i]
		m.Node, m.ID = b.Node, fmt.Sprintf("%s_%d", b.ID, i+1)
		texts[i] = m.Text
	}
	b.Text = strings.Join(texts, "\n")
	return b
}

// TestBatch returns a batch that an operator asked for.
func (n *Names) TestBatch(now time.Time, receiver string) *Batch {
	return n.batch(now, receiver, 0, 0, []Message{{
		Time: n.instant(now), Kind: kindTest,
		Text: harmless("This is a test by edgeguard notify test. Node " + n.Node + " can notify " + receiver + "."),
	}})
}
