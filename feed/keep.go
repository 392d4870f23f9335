package feed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
)

// Kept is a list that was in force, with what must be known of it after a restart.
type Kept struct {
	List *List `json:"-"`
	// Source names where it came from, without its secrets: what came from elsewhere is
	// another list. Wide is the setting that it was read with.
	Source string `json:"source"`
	Wide   bool   `json:"wide"`
	// Good is when the source last had this list, of the epoch.
	Good time.Time `json:"good"`
	// ETag and Modified are what the server called it; empty for none.
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Counts   Counts `json:"counts"`
}

const (
	keptMagic = "edgeguard list 1\n"
	maxHead   = 4096
	// MaxKept bounds a kept list, in bytes.
	MaxKept = len(keptMagic) + 4 + maxHead + 17*MaxEntries + sha256.Size
)

// errDamaged says that bytes are not a kept list, or not all of it.
var errDamaged = errors.New("not a kept list, or damaged")

// Marshal returns the list as bytes, with a checksum.
func (k *Kept) Marshal() ([]byte, error) {
	head, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	if len(head) > maxHead {
		return nil, errors.New("what describes the list is too long to be kept")
	}
	packed := restOfFile(k.List)
	out := make([]byte, 0, len(keptMagic)+4+len(head)+len(packed)+sha256.Size)
	out = append(out, keptMagic...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(head)))
	out = append(append(out, head...), packed...)
	sum := sha256.Sum256(out)
	return append(out, sum[:]...), nil
}

// Unmarshal returns the list of what Marshal returned, and keeps the bytes.
func Unmarshal(b []byte) (*Kept, error) {
	if len(b) > MaxKept || len(b) < len(keptMagic)+4+sha256.Size || !bytes.HasPrefix(b, []byte(keptMagic)) {
		return nil, errDamaged
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, errDamaged
	}
	body = body[len(keptMagic):]
	length, body := binary.LittleEndian.Uint32(body), body[4:]
	if length > maxHead || int(length) > len(body) {
		return nil, errDamaged
	}
	k := new(Kept)
	if err := json.Unmarshal(body[:length], k); err != nil {
		return nil, errDamaged
	}
	var err error
	if k.List, err = unpackAll(body[length:]); err != nil || k.List.Len() > MaxEntries {
		return nil, errDamaged
	}
	return k, nil
}
