package sign

import "encoding/hex"

// A signed heartbeat is its JSON object with a last member, "mac". A node of the
// version before passes over a member that it does not know.
const (
	beatStart = `,"mac":"`
	beatEnd   = `"}`
)

// tail is how many bytes a signed heartbeat ends with in place of its last
// brace. BeatSize is how many a MAC adds.
const (
	tail     = len(beatStart) + 2*Size + len(beatEnd)
	BeatSize = tail - 1
)

// Beat returns text, which is the JSON object of the heartbeat in this field,
// with its MAC as the last member. It returns text itself for nil.
func (k *Keys) Beat(namespace, field, text string) string {
	if k == nil || text == "" || ambiguous(namespace, field) {
		return text
	}
	mac := k.all[0].mac(beatMessage, namespace, field, text)
	return text[:len(text)-1] + beatStart + hex.EncodeToString([]byte(mac)) + beatEnd
}

// OpenBeat returns what [Keys.Beat] was given, and true if the MAC is by one of
// the keys. Otherwise it returns value as it is, and false.
func (k *Keys) OpenBeat(namespace, field, value string) (text string, signed bool) {
	cut := len(value) - tail
	if cut < 0 || value[cut:cut+len(beatStart)] != beatStart || value[len(value)-len(beatEnd):] != beatEnd {
		return value, false
	}
	mac, err := hex.DecodeString(value[cut+len(beatStart) : len(value)-len(beatEnd)])
	text = value[:cut] + "}"
	if err != nil || !k.fits(string(mac), beatMessage, namespace, field, text) {
		return value, false
	}
	return text, true
}
