package scan

import "edgeguard"

// LinePart is what a value in a line may say, whatever the format calls it. Formats whose values
// say more go on from Parts.
type LinePart uint8

// The parts that formats have in common. The first says nothing.
const (
	PartNone LinePart = iota
	PartTime
	PartAddr
	PartNode
	PartHost
	PartMethod
	PartPath
	PartStatus
	PartAgent
	PartPort
	PartReferer
	PartFetchSite
	PartRequest // GET /path HTTP/1.1
	Parts
)

// Set keeps a value; the dash is as in SetHost. Time and address are read by each format in its own
// way, and are not set here.
func (f *Fields) Set(part LinePart, b []byte) {
	switch part {
	case PartNode:
		f.node = undash(b)
		f.Known |= edgeguard.FieldNode
	case PartHost:
		f.SetHost(b)
	case PartMethod:
		f.SetMethod(b)
	case PartPath:
		f.SetPath(b)
	case PartStatus:
		if v, ok := SmallNumber(b); ok {
			f.SetStatus(v)
		}
	case PartAgent:
		f.SetAgent(b)
	case PartPort:
		if v, ok := SmallNumber(b); ok {
			f.SetPort(v)
		}
	case PartReferer:
		f.SetReferer(b)
	case PartFetchSite:
		f.fetchSite = undash(b)
		f.Known |= edgeguard.FieldFetchSite
	case PartRequest:
		f.Request = b
	}
}
