package notify

import (
	"sync"
	"time"

	"edgeguard"
)

// Desk decides what one receiver is sent and when: the first message immediately, and
// then what has come together, once in Every. Blocks and alarms are paced apart, so that
// an alarm does not wait behind a flood of blocks. Block is safe for concurrent use with
// the other methods, which are one goroutine's.
type Desk struct {
	Names    Names
	Receiver string
	Every    time.Duration

	mu     sync.Mutex // guards blocks; a leaf, and held for less than a microsecond by who decides
	blocks gathered

	book               book
	blocksAt, alarmsAt time.Time // when each was last sent
	made               uint64    // batches
	dropped            uint64    // blocks and alarms, since the last batch that arrived
}

// Block counts a block that the receiver is to be told of: the first of an attack, or with no ID one
// of none.
func (d *Desk) Block(now time.Time, b *edgeguard.Block, attack string) {
	d.mu.Lock()
	d.blocks.Add(now, b, attack)
	d.mu.Unlock()
}

// Waiting returns how many wait for a message.
func (d *Desk) Waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.blocks.Len()
}

// NextBatch returns what is to be sent now, nil for nothing. active are the alarms that the
// receiver wants; known is false while the node starts or ends, when alarms come and go
// with its services and no difference is told.
func (d *Desk) NextBatch(now time.Time, active []Condition, known, monitor bool) *Batch {
	var all []Message
	var before map[messageSubject]told
	if known && d.due(now, d.alarmsAt) && d.book.differs(active) {
		if all, before = d.book.tellChanges(now, &d.Names, active); len(all) > 0 {
			d.alarmsAt = now
		}
	}
	if d.due(now, d.blocksAt) {
		if blocks := d.take(now, monitor); len(blocks) > 0 {
			all = append(all, blocks...)
			d.blocksAt = now
		}
	}
	return d.batch(now, all, before)
}

// LastBatch returns what has not been sent when the receiver leaves, nil for nothing.
func (d *Desk) LastBatch(now time.Time, monitor bool) *Batch {
	return d.batch(now, d.take(now, monitor), nil)
}

func (d *Desk) due(now, last time.Time) bool { return last.IsZero() || now.Sub(last) >= d.Every }

// take returns the messages of the blocks that wait.
func (d *Desk) take(now time.Time, monitor bool) []Message {
	d.mu.Lock()
	blocks := d.blocks
	d.blocks = gathered{}
	d.mu.Unlock()
	if blocks.Len() == 0 {
		return nil
	}
	return blocks.messages(now, &d.Names, monitor)
}

func (d *Desk) batch(now time.Time, all []Message, before map[messageSubject]told) *Batch {
	if len(all) == 0 {
		return nil
	}
	d.made++
	b := d.Names.batch(now, d.Receiver, d.made, d.dropped, all)
	b.told = before
	return b
}

// Arrived notes that a batch was received.
func (d *Desk) Arrived() { d.dropped = 0 }

// GiveUp gives a batch up, and returns how many blocks and alarms were not told. Its alarms are told
// again as far as they are still active.
func (d *Desk) GiveUp(b *Batch) int {
	lost := 0
	for i := range b.Messages {
		f := &b.Messages[i].Fields
		lost += max(1, f.Blocks+f.Began+f.Ended)
	}
	d.dropped += uint64(lost)
	d.book.untell(b.told)
	return lost
}
