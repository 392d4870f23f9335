package detector

import "testing"

// TestCut: what is over the count comes off the newest slots; what is under it stays.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		slots []uint16
		count uint32
		want  []uint16
	}{
		{[]uint16{5, 6, 7}, 18, []uint16{5, 6, 7}},
		{[]uint16{5, 6, 7}, 17, []uint16{5, 6, 6}},
		{[]uint16{5, 6, 7}, 10, []uint16{5, 5, 0}},
		{[]uint16{5, 6, 7}, 0, []uint16{0, 0, 0}},
		{[]uint16{5, 6, 7}, 100, []uint16{5, 6, 7}},
	} {
		var slots, want [60]uint16
		copy(slots[57:], c.slots)
		copy(want[57:], c.want)
		if cut(&slots, c.count); slots != want {
			t.Errorf("%v cut to %d: %v", c.slots, c.count, slots[57:])
		}
	}
}
