package redis

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
)

// keyring keeps the fleet's key that this node judges and signs by. It is safe for
// concurrent use: who asks gets the key of that moment.
type keyring struct {
	*wire
	judge atomic.Pointer[fleet.Authority]
}

func newKeyring(w *wire) *keyring {
	k := &keyring{wire: w}
	k.judge.Store(fleet.NewAuthority(nil, w.config.Require, w.config.Namespace)) // until the key is read
	return k
}

// readKeyFile reads the key file. A node whose file cannot be read stays out of the
// fleet, or keeps the keys that it has: it never works without a key instead.
func (k *keyring) readKeyFile() error {
	var keys *aggregator.SigningKeys
	if k.config.KeyFile != "" {
		text, err := os.ReadFile(k.config.KeyFile)
		if err == nil {
			keys, err = aggregator.ParseSigningKeys(string(text))
		}
		if err != nil {
			return fmt.Errorf("fleet.key_file: %s: %w", k.config.KeyFile, err)
		}
	}
	k.judge.Store(fleet.NewAuthority(keys, k.config.Require, k.config.Namespace))
	return nil
}

// reload reads the key file again.
func (k *keyring) reload() {
	if err := k.readKeyFile(); err != nil {
		k.node.Alarm("key", "file", "the fleet key cannot be read again, and the node keeps the one that it has: "+shorten(err.Error()))
		return
	}
	k.node.Calm("key", "file")
}

// judged is a record of the fleet with what this node makes of it.
type judged struct {
	record aggregator.Record
	trust  blocklist.Trust
	err    error
}

func (k *keyring) check(prefix, record, mac string) judged {
	var j judged
	j.record, j.trust, j.err = k.judge.Load().Check(prefix, record, mac, k.node.Epoch(k.node.Now()))
	return j
}

// ledgerMark returns what the ledger keeps of it.
func (j *judged) ledgerMark() aggregator.Judged {
	return aggregator.Judged{Wrong: isWrong(j.err), Signed: j.trust.Signed, Newer: errors.Is(j.err, aggregator.ErrNewer)}
}
