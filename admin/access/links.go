package access

import (
	"sync"
	"time"
)

const (
	// LinkLasts is how long a link can be used.
	LinkLasts = 2 * time.Minute
	mostLinks = 16
)

// LinkStore keeps the links that log an operator in once. It is safe for concurrent use.
// Make one with [newLinkStore].
type LinkStore struct {
	mu   sync.Mutex             // guards made
	made map[[32]byte]time.Time // those that were not used yet
}

// newLinkStore returns an empty set of links.
func newLinkStore() *LinkStore { return &LinkStore{made: make(map[[32]byte]time.Time)} }

// Add makes a secret a link. If there are too many, the oldest is no longer one.
func (l *LinkStore) Add(secret Secret, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest [32]byte
	for hash, made := range l.made {
		if now.Sub(made) >= LinkLasts {
			delete(l.made, hash)
			continue
		}
		if first, ok := l.made[oldest]; !ok || made.Before(first) {
			oldest = hash
		}
	}
	if len(l.made) >= mostLinks {
		delete(l.made, oldest)
	}
	l.made[secret.hash()] = now
}

// Use takes a link; false if it is none, was used or is too old.
func (l *LinkStore) Use(secret Secret, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := secret.hash()
	made, ok := l.made[hash]
	delete(l.made, hash)
	return ok && now.Sub(made) < LinkLasts
}

// Clear makes all links useless.
func (l *LinkStore) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.made)
}
