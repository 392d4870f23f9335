package lapi

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

// The keys of bouncers are random, one for each name, and only their hashes are kept, in a
// file of the state folder. A key opens the LAPI and nothing else.

// KeysFile is the file's name in the state folder.
const KeysFile = "bouncers.json"

// MostKeys is how many keys there may be.
const MostKeys = 256

// mostBytes is more than a file of Most keys has.
const mostBytes = 256 << 10

// Whether a bouncer filters packets: Auto goes by its User-Agent.
const (
	Auto = "auto"
	Yes  = "yes"
	No   = "no"
)

// Why a key is not made or removed.
var (
	ErrKeyName = errors.New("invalid name: use 1 to 64 letters, digits, dots, hyphens and underscores, such as edge1-firewall")
	ErrKnown   = errors.New("has a key already")
	ErrUnknown = errors.New("has no key")
	ErrFull    = fmt.Errorf("there are %d keys, as many as may be", MostKeys)
	ErrKernel  = errors.New("kernel is auto, yes or no")
	ErrNoState = errors.New("this node has no state folder, which keeps the keys: set state in the config")
)

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Key is one bouncer's, without its secret.
type Key struct {
	Name   string    `json:"name"`
	Hash   string    `json:"sha256"` // of the secret, in hex
	Kernel string    `json:"kernel"`
	Made   time.Time `json:"made"`
}

// Keys are those of a node. They are safe for concurrent use. Make them with [OpenKeys].
type Keys struct {
	path string       // empty: none can be made
	mu   sync.RWMutex // guards all
	all  []Key        // by name; a change replaces it
}

// OpenKeys reads the keys of a state folder; empty for none.
func OpenKeys(folder string) (*Keys, error) {
	if folder == "" {
		return &Keys{}, nil
	}
	k := &Keys{path: filepath.Join(folder, KeysFile)}
	return k, k.read()
}

// file is what the file has.
type file struct {
	Keys []Key `json:"keys"`
}

func (k *Keys) read() error {
	text, err := safepath.ReadOwn(k.path, mostBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k.all, err = parse(text)
	return err
}

// parse reads the file's text.
func parse(text []byte) ([]Key, error) {
	var content file
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	if len(text) > mostBytes || len(content.Keys) > MostKeys {
		return nil, ErrFull
	}
	for i, one := range content.Keys {
		if hash, err := hex.DecodeString(one.Hash); err != nil || len(hash) != sha256.Size || !names.MatchString(one.Name) || !isKernel(one.Kernel) {
			return nil, fmt.Errorf("key %d of the file is damaged", i+1)
		}
	}
	slices.SortFunc(content.Keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return content.Keys, nil
}

func isKernel(text string) bool { return text == Auto || text == Yes || text == No }

// Add makes a key and returns its secret, which is kept nowhere.
func (k *Keys) Add(name, kernel string, now time.Time) (secret string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.path == "":
		return "", ErrNoState
	case !names.MatchString(name):
		return "", ErrKeyName
	case !isKernel(kernel):
		return "", ErrKernel
	case slices.ContainsFunc(k.all, func(one Key) bool { return one.Name == name }):
		return "", ErrKnown
	case len(k.all) >= MostKeys:
		return "", ErrFull
	}
	random := make([]byte, sha256.Size)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	secret = hex.EncodeToString(random)
	hash := sha256.Sum256([]byte(secret))
	all := append(slices.Clone(k.all), Key{Name: name, Hash: hex.EncodeToString(hash[:]), Kernel: kernel, Made: now.UTC().Truncate(time.Second)})
	slices.SortFunc(all, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return secret, k.write(all)
}

// Remove removes a key: its bouncer is refused from now on.
func (k *Keys) Remove(name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(k.all), func(one Key) bool { return one.Name == name })
	if len(all) == len(k.all) {
		return ErrUnknown
	}
	return k.write(all)
}

// write replaces the file, and then the keys in use.
func (k *Keys) write(all []Key) error {
	text, err := json.MarshalIndent(file{Keys: all}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(k.path, append(text, '\n'), atomicfile.Options{Mode: 0o600}); err != nil {
		return err
	}
	k.all = all
	return nil
}

// All returns the keys, by name.
func (k *Keys) All() []Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Clone(k.all)
}

// FindShown returns the key that was shown. Every hash is compared whole, so that its time
// says nothing of names, of how many keys there are before it, or of how much is right.
func (k *Keys) FindShown(shown string) (found Key, ok bool) {
	hash := sha256.Sum256([]byte(shown))
	text := make([]byte, hex.EncodedLen(len(hash)))
	hex.Encode(text, hash[:])
	k.mu.RLock()
	defer k.mu.RUnlock()
	at := -1
	for i := range k.all {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(text, []byte(k.all[i].Hash)), i, at)
	}
	if at < 0 {
		return Key{}, false
	}
	return k.all[at], true
}
