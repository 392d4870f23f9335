package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/internal/filelock"
)

const withState = `
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"]}
rules: [{name: all, threshold: 3}]
`

// A second node on one state folder does not start, touches no file of the first, and says
// whose the folder is. Where the first ends, the second starts with what it saved.
func TestOneNodeAFolder(t *testing.T) {
	dir := shortDir(t)
	first := newNode(t, dir, withState).start()
	for range 5 {
		first.request("203.0.113.7")
	}
	first.store.save()
	before := filesOf(t, filepath.Join(dir, "state"))

	second := newNode(t, dir, strings.ReplaceAll(withState, "auth.sock", "other.sock"))
	second.store.patience = 0
	err := runOnce(t, second)
	for _, want := range []string{filepath.Join(dir, "state"), "another edgeguard keeps it", "process ", "`state`"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the second: %v; without %q", err, want)
		}
	}
	if after := filesOf(t, filepath.Join(dir, "state")); after != before {
		t.Errorf("the second left %s, before it was %s", after, before)
	}

	third := newNode(t, dir, withState)
	third.store.patience = patience
	ready := make(chan struct{})
	go func() { defer close(ready); third.start() }()
	third.eventually("it waits", func() bool { return strings.Contains(third.log.String(), "waiting") })
	first.stop()
	<-ready
	if !third.blocked("203.0.113.7") {
		t.Errorf("the block is lost:\n%s", third.log)
	}
}

// runOnce runs a node that ends once it is ready, and returns why it did not start.
func runOnce(t *testing.T, u *underTest) error {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	u.options.Ready = end
	return u.Run(ctx)
}

// filesOf names the files of a folder.
func filesOf(t *testing.T, folder string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // a file that is being written
			all += e.Name() + " "
		}
	}
	return all
}

// A node whose state folder could not be made at the start does not save into it later,
// once another one does.
func TestFolderOfAnotherLater(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	if err := os.WriteFile(state, nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	u := newNode(t, dir, withState)
	if err := u.store.claim(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if u.store.save() != 0 {
		t.Error("saved into a file")
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := filelock.Hold(context.Background(), filepath.Join(state, lockName), "another", 0)
	if err != nil {
		t.Fatal(err)
	}
	if u.store.save() != 0 {
		t.Error("saved into the folder of another")
	}
	other.Release()
	if u.store.save() == 0 {
		t.Error("not saved into its own folder")
	}
	u.store.release()
}

// Root's files in another user's folder would be lost to that user: root does not begin.
func TestRootInAnotherUsersFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root: it cannot make files of another user")
	}
	const nobody = 65534
	for name, change := range map[string]func(folder string) error{
		"the folder": func(folder string) error { return os.Chown(folder, nobody, nobody) },
		"a file": func(folder string) error {
			file := filepath.Join(folder, stateName)
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Chown(file, nobody, nobody)
		},
	} {
		dir := shortDir(t)
		folder := filepath.Join(dir, "state")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := change(folder); err != nil {
			t.Fatal(err)
		}
		before := filesOf(t, folder)
		err := runOnce(t, newNode(t, dir, withState))
		if err == nil || !strings.Contains(err.Error(), "belongs to user nobody") || !strings.Contains(err.Error(), "chown -R root") {
			t.Errorf("%s: %v", name, err)
		}
		if after := filesOf(t, folder); after != before {
			t.Errorf("%s: it left %q", name, after)
		}
	}
}

// Who removes the lock lets a second node in. The first notices at its next save: it locks the folder again, or says
// who has it and saves nothing there.
func TestLockThatIsRemoved(t *testing.T) {
	dir := shortDir(t)
	first := newNode(t, dir, withState).start()
	lock := filepath.Join(dir, "state", lockName)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	first.store.save()
	second := newNode(t, dir, strings.ReplaceAll(withState, "auth.sock", "other.sock"))
	second.store.patience = 0
	if err := runOnce(t, second); err == nil || !strings.Contains(err.Error(), "another edgeguard keeps it") {
		t.Errorf("after a save: %v", err)
	}
	first.store.saving.Lock() // or it takes the folder again before the third
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	third := newNode(t, dir, strings.ReplaceAll(withState, "auth.sock", "other.sock")).start()
	first.store.saving.Unlock()
	if first.store.save() != 0 {
		t.Error("the first saves into the folder of another")
	}
	first.eventually("it says so", func() bool { return strings.Contains(first.log.String(), "another edgeguard keeps it") })
	third.stop()
	if first.store.save() == 0 {
		t.Error("the folder is free, and the first does not save")
	}
}
