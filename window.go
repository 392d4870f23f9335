package edgeguard

// Slots is how many parts a sliding window has. A slot is a window's length
// divided by Slots, in whole seconds.
const Slots = 60

// MaxLimit is the greatest limit that a rule can have. A slot holds 65,535 and
// stays there, so a count above a greater limit might never be seen.
const MaxLimit = 65_534

// The widest prefixes, in bits, that are blocked or allowed without force.
const (
	WidestV4 = 16
	WidestV6 = 32
)
