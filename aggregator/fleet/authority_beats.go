package fleet

import "edgeguard/aggregator"

// ParseHeartbeat parses a heartbeat, and reports whether it is signed by a key of this
// fleet, and whether it counts if it is fresh.
func (j *Authority) ParseHeartbeat(field, value string) (h aggregator.Heartbeat, signed, ok bool) {
	h, signed, ok = aggregator.VerifyHeartbeat(j.keys, j.namespace, field, value)
	return h, signed, ok && (signed || !j.require)
}

// EncodeBeat returns the text of this node's heartbeat, signed if the node has a
// key.
func (j *Authority) EncodeBeat(h aggregator.Heartbeat) string {
	h.Mode = j.KeyMode()
	return h.EncodeSigned(j.keys, j.namespace)
}

// SignFigures returns the text of this node's figures, signed if it has a key.
func (j *Authority) SignFigures(node, text string) string {
	return j.keys.Figures(j.namespace, node, text)
}

// OpenFigures returns the text of a node's figures, and reports whether it is signed
// by a key of this fleet, and whether it counts.
func (j *Authority) OpenFigures(node, value string) (text string, signed, ok bool) {
	text, signed = j.keys.OpenFigures(j.namespace, node, value)
	return text, signed, signed || !j.require
}

// SignLease returns the text of a term of a lease, signed if the node has a key.
func (j *Authority) SignLease(term, text string) string {
	return j.keys.Lease(j.namespace, term, text)
}

// OpenLease returns the text of a term, and reports whether it counts.
func (j *Authority) OpenLease(term, value string) (text string, ok bool) {
	text, signed := j.keys.OpenLease(j.namespace, term, value)
	return text, signed || !j.require
}

// KeyMode returns the node's key_mode; "" without a key.
func (j *Authority) KeyMode() string {
	switch {
	case j.keys == nil:
		return ""
	case j.require:
		return "require"
	}
	return "accept"
}

// KeyID returns the ID of the key that signs; "" without a key.
func (j *Authority) KeyID() string { return j.keys.KeyID() }
