package aggregator

import "encoding/hex"

// A signed heartbeat is its JSON object with a last member, "mac". A node
// passes over a member that it does not know.
const (
	beatStart = `,"mac":"`
	beatEnd   = `"}`
)

// tail is how many bytes a signed heartbeat ends with in place of its last
// brace. beatMACSize is how many a MAC adds.
const (
	tail        = len(beatStart) + 2*MACSize + len(beatEnd)
	beatMACSize = tail - 1
)

// SignHeartbeat returns text, which is the JSON object of the heartbeat in this field,
// with its MAC as the last member. It returns text itself for nil.
func (k *SigningKeys) SignHeartbeat(namespace, field, text string) string {
	return k.seal(beatMessage, namespace, field, text)
}

// OpenBeat returns what [SigningKeys.SignHeartbeat] was given, and true if the MAC is by one of
// the keys. Otherwise it returns value as it is, and false.
func (k *SigningKeys) OpenBeat(namespace, field, value string) (text string, signed bool) {
	return k.open(beatMessage, namespace, field, value)
}

// Figures returns the JSON object of a node's figures with its MAC, as [SigningKeys.SignHeartbeat]
// does of a heartbeat. The MAC of one does not fit the other.
func (k *SigningKeys) Figures(namespace, node, text string) string {
	return k.seal(figuresMessage, namespace, node, text)
}

// OpenFigures returns what [SigningKeys.Figures] was given, as [SigningKeys.OpenBeat] does.
func (k *SigningKeys) OpenFigures(namespace, node, value string) (text string, signed bool) {
	return k.open(figuresMessage, namespace, node, value)
}

// Lease returns the JSON object of a term of a lease with its MAC, as [SigningKeys.SignHeartbeat] does.
func (k *SigningKeys) Lease(namespace, term, text string) string {
	return k.seal(leaseMessage, namespace, term, text)
}

// OpenLease returns what [SigningKeys.Lease] was given, as [SigningKeys.OpenBeat] does.
func (k *SigningKeys) OpenLease(namespace, term, value string) (text string, signed bool) {
	return k.open(leaseMessage, namespace, term, value)
}

func (k *SigningKeys) seal(kind, namespace, field, text string) string {
	if k == nil || text == "" || ambiguous(namespace, field) {
		return text
	}
	mac := k.all[0].mac(kind, namespace, field, text)
	return text[:len(text)-1] + beatStart + hex.EncodeToString([]byte(mac)) + beatEnd
}

func (k *SigningKeys) open(kind, namespace, field, value string) (text string, signed bool) {
	cut := len(value) - tail
	if cut < 0 || value[cut:cut+len(beatStart)] != beatStart || value[len(value)-len(beatEnd):] != beatEnd {
		return value, false
	}
	mac, err := hex.DecodeString(value[cut+len(beatStart) : len(value)-len(beatEnd)])
	text = value[:cut] + "}"
	if err != nil || !k.isMACOf(string(mac), kind, namespace, field, text) {
		return value, false
	}
	return text, true
}
