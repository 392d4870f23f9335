package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"edgeguard/internal/safetext"
)

// The thresholds that operators set for all nodes of a fleet: their records as Redis stores
// them, and which of two records of a rule is in force.

const (
	// MaxThresholdRecord is the most bytes that a record takes.
	MaxThresholdRecord = 2048
	// MaxText is the most bytes of each of its texts.
	MaxText = 256
	// Ahead is how far in the future a record may be: clocks differ by less.
	Ahead = time.Minute

	// A record with an action or an end has the later format: nodes that know only the first
	// leave it alone.
	firstFormat, latestFormat = 1, 2
)

// ErrNewer is the error about a record of a later version.
var ErrNewer = errors.New("record of a later version")

// ThresholdRecord is one change of a rule's threshold or action for the whole fleet, or its undo. Of
// two records of one rule the later is in force.
type ThresholdRecord struct {
	Rule string `json:"rule"`
	// Meter is the fingerprint of what the rule counts. Base is the config's
	// threshold that is replaced. With others the record is not in force on a node.
	Meter string `json:"meter"`
	Base  uint32 `json:"base"`
	// Threshold is in force instead; 0 for the config's, which without Shadow undoes the record before.
	Threshold uint32 `json:"threshold,omitempty"`
	// Shadow: the rule only reports.
	Shadow bool `json:"shadow,omitempty"`
	// Until is when the config's are in force again, in unix milliseconds; 0 for never.
	Until int64 `json:"until,omitempty"`
	// Forced: no node waits for a confirmation.
	Forced bool `json:"forced,omitempty"`
	// At is the time of the change in unix milliseconds, and later than that of the
	// record that the writer knew.
	At   int64  `json:"at"`
	Node string `json:"node"` // where it was made
	By   string `json:"by,omitempty"`
	Note string `json:"note,omitempty"`
}

// wire is a record as Redis stores it.
type wire struct {
	Format int `json:"format"`
	ThresholdRecord
}

// Since returns when the change was made, in whole seconds.
func (r *ThresholdRecord) Since() time.Time { return time.UnixMilli(r.At).UTC().Truncate(time.Second) }

// IsUndo reports whether the record only undoes.
func (r *ThresholdRecord) IsUndo() bool { return r.Threshold == 0 && !r.Shadow }

// End returns when it ends by itself, in whole seconds; the zero time for never.
func (r *ThresholdRecord) End() time.Time {
	if r.Until == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.Until).UTC().Truncate(time.Second)
}

// IsOver reports whether it has ended by itself.
func (r *ThresholdRecord) IsOver(now time.Time) bool {
	return r.Until != 0 && now.UnixMilli() >= r.Until
}

// format returns the format that it is written in.
func (r *ThresholdRecord) format() int {
	if r.Shadow || r.Until != 0 {
		return latestFormat
	}
	return firstFormat
}

// compareThresholds orders the records of one rule: the later one decides, on every node and in
// whatever order they arrive. Of two that were made in the same millisecond the order
// has no meaning, but is the same everywhere.
func compareThresholds(a, b *ThresholdRecord) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.text(), b.text()))
}

// text returns all that is in a record.
func (r *ThresholdRecord) text() string { return fmt.Sprintf("%+v", *r) }

// NextThreshold returns the time of a record that is to follow another, which may be nil.
func NextThreshold(now time.Time, last *ThresholdRecord) int64 {
	if last == nil {
		return now.UnixMilli()
	}
	return max(now.UnixMilli(), last.At+1)
}

// Encode returns a record as Redis stores it. It refuses what Decode would not read.
func (r ThresholdRecord) Encode() (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(wire{r.format(), r}); err != nil {
		return "", err
	}
	text := string(bytes.TrimSpace(out.Bytes()))
	if len(text) > MaxThresholdRecord {
		return "", fmt.Errorf("the record takes %d bytes, over %d: shorten the note", len(text), MaxThresholdRecord)
	}
	return text, nil
}

// DecodeThreshold reads what Encode wrote. The text may be anybody's.
func DecodeThreshold(text string) (ThresholdRecord, error) {
	if len(text) > MaxThresholdRecord {
		return ThresholdRecord{}, fmt.Errorf("record of %d bytes: not over %d", len(text), MaxThresholdRecord)
	}
	var version struct{ Format int }
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return ThresholdRecord{}, fmt.Errorf("record: %w", err)
	}
	if version.Format > latestFormat {
		return ThresholdRecord{}, ErrNewer
	}
	var w wire
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return ThresholdRecord{}, fmt.Errorf("record: %w", err)
	}
	if w.Format != w.format() {
		return ThresholdRecord{}, fmt.Errorf("record of format %d", w.Format)
	}
	return w.ThresholdRecord, w.check()
}

// check returns what is wrong with a record, whoever made it.
func (r *ThresholdRecord) check() error {
	for _, text := range []string{r.Rule, r.Meter, r.Node, r.By, r.Note} {
		if len(text) > MaxText || !safetext.Clean(text) {
			return fmt.Errorf("a text is longer than %d bytes or has control characters", MaxText)
		}
	}
	switch {
	case r.Rule == "" || r.Meter == "" || r.Node == "":
		return errors.New("no rule, no meter or no node")
	case r.Base == 0 || r.At <= 0 || r.At > latest:
		return fmt.Errorf("base %d, time %d", r.Base, r.At)
	case r.Until < 0 || r.Until > latest || r.Until != 0 && r.IsUndo():
		return fmt.Errorf("end %d", r.Until)
	case r.Threshold == r.Base:
		return errors.New("the threshold is the config's")
	}
	return nil
}

// latest is the last millisecond that every calendar can print.
var latest = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
