package console

import (
	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/console/draw"
)

// drag is what the script of the curve reads, to move the line and what it says
// without asking the node for each pixel.
type drag struct {
	API   string `json:"api"`   // answers with the outcome of a threshold that is appended
	Most  uint32 `json:"most"`  // the highest threshold
	Guard string `json:"guard"` // a decimal
	// Begin is where the axes of the curve begin, Right and Top where they end, as
	// logarithms to the base 10.
	Begin float64 `json:"begin"`
	Right float64 `json:"right"`
	Top   float64 `json:"top"`
	// Buckets are low, high, keys and requests of each bucket, Highest the counts of
	// the keys that count most, Keys and Requests those of all.
	Buckets  [][4]uint64   `json:"buckets"`
	Highest  []uint32      `json:"highest"`
	Keys     uint64        `json:"keys"`
	Requests uint64        `json:"requests"`
	One      string        `json:"one"` // what a key is called, and several
	Many     string        `json:"many"`
	Events   string        `json:"events"`
	Each     uint32        `json:"each"`   // what one adds to a limit
	Tried    admin.Outcome `json:"tried"`  // as the page has it
	Trying   bool          `json:"trying"` // it is another threshold than that in force
}

func newDrag(t *tunePage) *drag {
	d := &drag{
		API: "/api/v1" + t.Link + "/outcome?threshold=", Most: edgeguard.MaxLimit, Guard: t.Guard,
		Begin: draw.Begin, Right: t.Curve.Right, Top: t.Curve.Top, Keys: t.Keys, Requests: t.Requests,
		One: "key", Many: "keys", Events: t.Kind + "s", Each: max(t.Unit.Each, 1), Tried: t.Tried, Trying: t.Trying,
	}
	if t.Key == "address" {
		d.One, d.Many = "address", "addresses"
	}
	for _, b := range t.Histogram {
		d.Buckets = append(d.Buckets, [4]uint64{uint64(b.Low), uint64(b.High), b.Keys, b.Requests})
	}
	for i := range t.Top {
		d.Highest = append(d.Highest, t.Top[i].Count)
	}
	return d
}
