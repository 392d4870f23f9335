package replay

import "edgeguard"

// Keys counts the keys that crossed a limit by what came of it, each once,
// however many rules it crossed.
type Keys struct {
	Blocked, Refused, Shadowed, Alarmed int
	// Protected and Wide (IPv6 networks wider than a key) are of the alarmed.
	// AddedUp were first seen by adding nodes up.
	Protected, Wide, AddedUp int
	// FrontDoors are of the alarmed, too: addresses of what stands before the site.
	FrontDoors int
	// About says that rows were dropped, so that these are estimates, with a
	// standard error under 1 %.
	About bool
}

const classes = 8

// inClass has, for each figure of Keys in their order, which offenders it
// counts.
var inClass = [classes]func(*Offender) bool{
	func(o *Offender) bool { return o.Action == edgeguard.ActionBlock },
	func(o *Offender) bool { return o.Action == edgeguard.ActionDeny },
	func(o *Offender) bool { return o.Action == edgeguard.ActionShadow },
	func(o *Offender) bool { return o.Action == edgeguard.ActionAlarm },
	func(o *Offender) bool { return o.Protected != "" },
	func(o *Offender) bool { return o.Action == edgeguard.ActionAlarm && o.Wide > 0 },
	func(o *Offender) bool { return o.Fleet },
	func(o *Offender) bool { return o.FrontDoor != "" && o.Action == edgeguard.ActionAlarm },
}

// countKeys counts the keys of all rows, dropped ones included.
func (r *rows) countKeys() Keys {
	var n [classes]int
	for class, is := range inClass {
		n[class] = r.distinct(class, is)
	}
	return Keys{Blocked: n[0], Refused: n[1], Shadowed: n[2], Alarmed: n[3], Protected: n[4], Wide: n[5], AddedUp: n[6], FrontDoors: n[7], About: r.dropped > 0}
}

func (r *rows) distinct(class int, is func(*Offender) bool) int {
	seen := make(map[edgeguard.Key]struct{})
	all := r.gone[class]
	for _, o := range r.kept {
		if is(&o.Offender) {
			seen[o.Key] = struct{}{}
			all.add(r.seed.hashKey(o.Key))
		}
	}
	if r.dropped == 0 {
		return len(seen)
	}
	return max(len(seen), all.estimate())
}
