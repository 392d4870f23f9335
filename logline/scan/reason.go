package scan

import "edgeguard"

// Reason says why a line was skipped; the empty one that it was not.
type Reason string

// The reasons that more than one format has, or that [Reason.Class] distinguishes.
const (
	Read         Reason = ""
	Aside        Reason = "says nothing of a client" // neither an event nor a line that was skipped
	NotTheFormat Reason = "not of this format"
	CutShort     Reason = "the end of the path or of another field is missing: raise the limits of the server's log"
	TooLong      Reason = "longer than 8 MiB"
	BadAddr      Reason = "no address where the format has one"
	HostName     Reason = "a host name where the address should be: set HostnameLookups Off, or log %a"
	UnixSocket   Reason = "came over a unix socket: it has no address"
	NoAddr       Reason = "no client address under a known name"
	BadTime      Reason = "no time where the format has one"
	farTime      Reason = "the time is before 1970 or after 2105"
	TwoWays      Reason = "can be read in two ways: put quotes around the fields that clients write"
	OverRow      Reason = "a row longer than 64 KiB"
	OverWhole    Reason = "longer than 1 MiB"
)

// Class returns the reason as it is counted, one of a closed set.
func (r Reason) Class() edgeguard.Reason {
	switch r {
	case CutShort:
		return edgeguard.FieldCut
	case TooLong, OverRow, OverWhole:
		return edgeguard.LineTooLong
	case BadAddr, HostName, UnixSocket, NoAddr:
		return edgeguard.NoClient
	}
	return edgeguard.LineMisfit
}
