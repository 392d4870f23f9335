package clockguard

import (
	"math"
	"testing"
	"time"
)

func TestSlot(t *testing.T) {
	tests := []struct {
		name  string
		at    time.Time
		width uint32
		want  uint32
	}{
		{"the epoch", time.Unix(0, 0), 5, 0},
		{"the last moment of a slot", time.Unix(9, 999_999_999), 5, 1},
		{"the first of the next", time.Unix(10, 0), 5, 2},
		{"today", start, 5, 353_464_609},
		{"a moment before 1970", time.Unix(0, -1), 5, 0},
		{"zero time", time.Time{}, 1, 0},
		{"2038", time.Unix(math.MaxInt32+1, 0), 1, math.MaxInt32 + 1},
		{"the last second of 32 bits", time.Unix(math.MaxUint32, 0), 1, math.MaxUint32},
		{"after it", time.Unix(math.MaxUint32+1, 0), 1, math.MaxUint32},
		{"after it, wider", time.Unix(math.MaxUint32+1, 0), 5, 858_993_459},
		{"far beyond", time.Unix(math.MaxInt64, 0), 1, math.MaxUint32},
		{"another zone is the same moment", start.In(time.FixedZone("x", 3600)), 5, 353_464_609},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Slot(tt.at, tt.width); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
