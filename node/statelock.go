package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edgeguard/enforce"
	"edgeguard/internal/filelock"
	"edgeguard/internal/safepath"
	"edgeguard/node/alarm"
)

const (
	// lockName is the file in the state folder that the node which keeps it has locked.
	lockName = "node.lock"
	// lockPatience is how long a node waits for one that ends: a restart by hand may start
	// the next one before the last has answered all requests.
	lockPatience = 5 * time.Second
)

// claim makes the state folder and locks it, so that no second node replaces what this one
// saves: of two, each would have only its own counts and blocks, and whoever saves last
// would win. The error says who has it. Where the folder cannot be made or locked, the node
// runs without, with an alarm: a disk that is full or a network's file system must not
// leave a site unprotected. A save tries again, also where the lock's file was removed.
func (s *store) claim(ctx context.Context, patience time.Duration) error {
	if s.path == "" || s.lock.Holds() {
		return nil
	}
	s.lock.Release()
	s.lock = nil
	folder := filepath.Dir(s.path)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return s.unusable(folder, err)
	}
	if _, err := os.Lstat(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.unusable(folder, err)
	}
	if err := s.notRoots(folder); err != nil {
		return err
	}
	file := filepath.Join(folder, lockName)
	lock, err := filelock.Hold(ctx, file, s.holder(), 0)
	if errors.Is(err, filelock.ErrInUse) && patience > 0 {
		s.log.Info("waiting for another edgeguard to end, which keeps the state folder", "folder", folder, "at most", patience)
		lock, err = filelock.Hold(ctx, file, s.holder(), patience)
	}
	switch user := safepath.Other(file); {
	case errors.Is(err, filelock.ErrInUse):
		return fmt.Errorf("the state folder %s: %w: stop that one first, or give this one another `state` in a config of its own", folder, err)
	case errors.Is(err, fs.ErrPermission) && user != "":
		return ofAnother(folder, file, user)
	case err != nil:
		s.alarms.Begins(s.clock.Now(), alarm.State, file,
			"the state folder cannot be locked, so start no second edgeguard with it: "+err.Error())
		return nil
	}
	s.lock = lock
	s.alarms.Recovers(alarm.State, file)
	return nil
}

// unusable says once that nothing of the folder can be read or saved.
func (s *store) unusable(folder string, err error) error {
	s.alarms.Begins(s.clock.Now(), alarm.State, folder, fmt.Sprintf("the state folder %s cannot be used, so the node begins without its blocks, counts, overlay and keys of bouncers, and saves none: %v", folder, err))
	return nil
}

// release lets the next node have the folder. Call it last.
func (s *store) release() { s.lock.Release() }

// holder returns what a node that finds the folder locked says of this one.
func (s *store) holder() string {
	host, _ := os.Hostname() // a network's file system has several
	return fmt.Sprintf("process %d of user %s on host %s, since %s", os.Getpid(), safepath.User(), host,
		s.clock.Epoch(s.clock.Now()).UTC().Format("2006-01-02 15:04:05 UTC"))
}

// notRoots refuses, to root, the folder of another user: its node could read nothing that
// root saves there, and would begin without blocks and allowances.
func (s *store) notRoots(folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, file := range []string{folder, filepath.Join(folder, lockName), filepath.Join(folder, enforce.OwnedName),
		s.path, s.evidence.Path, s.history.Path, inState(folder, eventsFolder), s.day.Path} {
		if user := safepath.Other(file); user != "" {
			return ofAnother(folder, file, user)
		}
	}
	return nil
}

func ofAnother(folder, file, user string) error {
	me := safepath.User()
	return fmt.Errorf("the state folder %s: %s belongs to user %s, and this is user %s: run edgeguard as %s (`systemctl start edgeguard`, `runuser -u %s -- edgeguard serve`), or `chown -R %s %s` if it is to be %s's from now on",
		folder, file, user, me, user, user, me, folder, me)
}
