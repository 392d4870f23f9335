package aggregator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// What a fleet's nodes write to Redis has MACs: block records, heartbeats and figures. The key
// is in a file on each node, so that who can write to Redis cannot speak for a node.
//
// A MAC is 21 bytes: the byte 1, the key's ID (4 bytes), and the first 16 bytes
// of HMAC-SHA-256. It is over the bytes as Redis stores them, with the
// namespace and the field, so that a MAC does not fit another fleet or another
// prefix. Nothing is decoded and encoded again to verify it.

// MACSize is the bytes of a MAC.
const MACSize = 1 + idSize + tagSize

const (
	format  = 1
	idSize  = 4
	tagSize = 16

	idMessage     = "edgeguard fleet key id 1"
	recordMessage = "edgeguard fleet record 1"
	beatMessage   = "edgeguard fleet beat 1"

	figuresMessage = "edgeguard fleet figures 1"
	leaseMessage   = "edgeguard fleet lease 1"
)

// SigningKeys are the keys of one node: the first signs, all verify. nil is a node
// without a key, which signs nothing and for which nothing is signed. It is
// safe for concurrent use. Make it with [ParseSigningKeys].
type SigningKeys struct{ all []signKey }

type signKey struct {
	secret [sha256.Size]byte
	id     [idSize]byte
}

// ParseSigningKeys reads a key file: one or two lines of 64 hex digits. Blank lines and
// lines that begin with '#' are passed over. No error contains a line's text.
func ParseSigningKeys(text string) (*SigningKeys, error) {
	var keys SigningKeys
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var k signKey
		if n, err := hex.Decode(k.secret[:], []byte(line[:min(len(line), 2*sha256.Size)])); err != nil || n != sha256.Size || len(line) != 2*sha256.Size {
			return nil, fmt.Errorf("line %d is not a key of %d hex digits: make one with `edgeguard fleet key`", i+1, 2*sha256.Size)
		}
		k.id = [idSize]byte(k.sum(idMessage))
		for _, other := range keys.all {
			if other.id == k.id {
				return nil, fmt.Errorf("line %d repeats a key: remove the line", i+1)
			}
		}
		if len(keys.all) == 2 {
			return nil, fmt.Errorf("line %d is a third key: keep the one that signs and one more", i+1)
		}
		keys.all = append(keys.all, k)
	}
	if len(keys.all) == 0 {
		return nil, errors.New("contains no key: make one with `edgeguard fleet key`")
	}
	return &keys, nil
}

// NewSigningKey returns the line of a key file for these random bytes.
func NewSigningKey(random [sha256.Size]byte) string { return hex.EncodeToString(random[:]) }

// KeyID returns the ID of the key that signs, as 8 hex digits; "" for nil. It does
// not reveal the key.
func (k *SigningKeys) KeyID() string {
	if k == nil {
		return ""
	}
	return hex.EncodeToString(k.all[0].id[:])
}

// KeyIDOf returns the ID of the key that a MAC says it was made with, as 8 hex
// digits, without verifying it; "" if it is not formed as a MAC.
func KeyIDOf(mac string) string {
	if len(mac) != MACSize || mac[0] != format {
		return ""
	}
	return hex.EncodeToString([]byte(mac[1 : 1+idSize]))
}

// String returns the IDs of the keys, so that no log contains a key.
func (k *SigningKeys) String() string {
	if k == nil {
		return "no key"
	}
	var ids []string
	for i := range k.all {
		ids = append(ids, hex.EncodeToString(k.all[i].id[:]))
	}
	return "keys " + strings.Join(ids, ", ")
}

// GoString returns the same as [SigningKeys.String].
func (k *SigningKeys) GoString() string { return k.String() }

// Record returns the MAC of a record under its prefix, both as Redis stores
// them; "" for nil, and for what [SigningKeys.Signed] would refuse.
func (k *SigningKeys) Record(namespace, prefix, record string) string {
	if k == nil || ambiguous(namespace, prefix) {
		return ""
	}
	return k.all[0].mac(recordMessage, namespace, prefix, record)
}

// Signed reports whether mac is the MAC of this record by one of the keys. It is
// false for nil, and for every MAC that is missing or malformed.
func (k *SigningKeys) Signed(namespace, prefix, record, mac string) bool {
	return k.isMACOf(mac, recordMessage, namespace, prefix, record)
}

// isMACOf reports whether mac is the MAC of a message by one of the keys.
func (k *SigningKeys) isMACOf(mac, kind, namespace, field, text string) bool {
	if k == nil || len(mac) != MACSize || mac[0] != format || ambiguous(namespace, field) {
		return false
	}
	for i := range k.all {
		// The ID is public: comparing it first reveals nothing, and saves the
		// sum by the wrong key.
		if own := &k.all[i]; mac[1:1+idSize] == string(own.id[:]) && hmac.Equal([]byte(mac), []byte(own.mac(kind, namespace, field, text))) {
			return true
		}
	}
	return false
}

// ambiguous reports whether a message would not be readable in one way only.
func ambiguous(namespace, field string) bool {
	return strings.IndexByte(namespace, 0) >= 0 || strings.IndexByte(field, 0) >= 0
}

func (k *signKey) mac(kind, namespace, field, text string) string {
	out := make([]byte, 0, MACSize)
	out = append(append(out, format), k.id[:]...)
	return string(append(out, k.sum(kind, namespace, field, text)[:tagSize]...))
}

// sum returns the HMAC of the parts, with a NUL between each two.
func (k *signKey) sum(parts ...string) []byte {
	h := hmac.New(sha256.New, k.secret[:])
	h.Write([]byte(strings.Join(parts, "\x00")))
	return h.Sum(nil)
}
