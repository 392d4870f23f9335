package fleet

import (
	"fmt"
	"time"

	"edgeguard/aggregator"
	"edgeguard/blocklist"
)

// Which records in Redis a node accepts, and how often it replaces one that every node
// rejects. Whoever can write to Redis can write any record, so nothing here rests on what
// Redis checks.

// ErrUnsigned is wrapped by the error about a record without a valid MAC, on a
// node that requires one. It is an [aggregator.ErrWrong].
var ErrUnsigned = fmt.Errorf("not signed by a key of this fleet: %w", aggregator.ErrWrong)

// Authority judges the records of one fleet. It does not change, and is safe for
// concurrent use.
type Authority struct {
	keys      *aggregator.SigningKeys
	require   bool
	namespace string
}

// NewAuthority returns the judge of a node with these keys; nil is a node without a
// key. With require, a record without a valid MAC is wrong.
func NewAuthority(keys *aggregator.SigningKeys, require bool, namespace string) *Authority {
	return &Authority{keys: keys, require: require, namespace: namespace}
}

// Signs reports whether the node has a key, and Requires whether it accepts
// signed records only.
func (j *Authority) Signs() bool    { return j.keys != nil }
func (j *Authority) Requires() bool { return j.require }

// ByFirst reports whether a valid MAC was made by the key that signs now, and not by
// the other one of a rotation.
func (j *Authority) ByFirst(mac string) bool { return aggregator.KeyIDOf(mac) == j.keys.KeyID() }

// Check checks a record with its MAC, "" if it has none, as
// [aggregator.CheckRecord] does, and returns how far it can be trusted. Beside
// its errors there is [ErrUnsigned].
func (j *Authority) Check(prefix, record, mac string, now time.Time) (aggregator.Record, blocklist.Trust, error) {
	signed := j.keys.Signed(j.namespace, prefix, record, mac)
	if j.require && !signed {
		return aggregator.Record{}, blocklist.Trust{}, fmt.Errorf("record of %.60q: %w", prefix, ErrUnsigned)
	}
	r, err := aggregator.CheckRecord(prefix, record, now)
	return r, blocklist.Trust{Forced: r.Forced, Signed: signed}, err
}

// RecordMAC returns the MAC with which a record of this node is published, "" for
// none. Only what this node made or verified with a key is signed: otherwise an
// unsigned record that was accepted would be signed on its way back. ok is false
// if the other nodes would reject the record.
func (j *Authority) RecordMAC(prefix, record string, t blocklist.Trust) (mac string, ok bool) {
	if t.Signed {
		mac = j.keys.Record(j.namespace, prefix, record)
	}
	return mac, mac != "" || !j.require
}

// Threshold returns a rule's threshold record with its MAC, as Redis stores it.
func (j *Authority) Threshold(rule, record string) string {
	return j.keys.Threshold(j.namespace, rule, record)
}

// OpenThreshold returns the record of such a value, and whether a key of the fleet
// signed it.
func (j *Authority) OpenThreshold(rule, value string) (record string, signed bool) {
	return j.keys.OpenThreshold(j.namespace, rule, value)
}
