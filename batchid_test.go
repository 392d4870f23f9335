package edgeguard_test

import (
	"encoding/json"
	"math"
	"testing"

	"edgeguard"
)

// A batch has one name, which no other text is.
func TestBatchHasOneName(t *testing.T) {
	for _, b := range []edgeguard.BatchID{1, 35, 36, 4711, math.MaxUint32} {
		text, err := json.Marshal(b)
		var read edgeguard.BatchID
		if got, ok := edgeguard.ParseBatchID(b.String()); !ok || got != b || err != nil || json.Unmarshal(text, &read) != nil || read != b || len(b.String()) > 7 {
			t.Errorf("%d: %q, %s: read as %d and %d", b, b, text, got, read)
		}
	}
	for _, text := range []string{"", "0", "01", "A", "-1", "+1", "1z141z4", "zzzzzzz", " 1", "ä"} {
		if b, ok := edgeguard.ParseBatchID(text); ok {
			t.Errorf("%q is %d", text, b)
		}
	}
	if edgeguard.BatchID(0).String() != "" {
		t.Error("none has a name")
	}
}

// The one number beside a limit is the count of a rule's block, and else the batch.
func TestMarkIsReadBack(t *testing.T) {
	for _, b := range []edgeguard.Block{{}, {Count: 71, Limit: 70}, {Batch: math.MaxUint32}, {Limit: 1}} {
		var read edgeguard.Block
		if read.Unmark(b.Marked(), b.Limit); read != b {
			t.Errorf("%+v is read as %+v", b, read)
		}
	}
}
