package node

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/haproxy/peers"
	"edgeguard/snapshot"
)

var tallyfileNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const keys = 100_000

// at is the counter of one address.
func at(value uint64) *peers.Update {
	table := &peers.Definition{ID: 1, Name: "/counts", Key: peers.IPv6, KeyBytes: 16, Expire: time.Hour, Stored: []peers.Stored{{Type: peers.GPC, Elements: 1}}}
	key := netip.MustParseAddr("::ffff:192.0.2.1").As16()
	return &peers.Update{Table: table, Key: key[:], Numbers: []uint64{value}}
}

// session is a connection on which the counter is known from the first update on.
func session(f *tallyFile, now time.Time) *peers.Session {
	s := f.Kept.Begin("ha1", 7, now)
	s.Round(now, 100)
	return s
}

// keeps is a file whose HAProxy has counted so much.
func keeps(folder string, value uint64) *tallyFile {
	f := &tallyFile{Path: filepath.Join(folder, tallyFileName), keys: keys, Kept: peers.NewTally(keys)}
	s := session(f, tallyfileNoon.Add(-time.Minute))
	s.Add(at(value), nil)
	s.Resynced(true)
	s.Resynced(true) // nothing was inherited in the middle of this one
	return f
}

// gained is how much is counted of what the counter is now.
func gained(f *tallyFile, value uint64) (n uint32) {
	for _, in := range session(f, tallyfileNoon.Add(time.Minute)).Add(at(value), nil) {
		n += in.N
	}
	return n
}

func save(t *testing.T, f *tallyFile, at time.Time) {
	t.Helper()
	cut := snapshot.Cut{Taken: at, Offset: time.Second}
	f.Cut(cut)
	if err := f.Save(cut); err != nil {
		t.Fatal(err)
	}
}

// What is loaded is what there was at the cut, if it is not older than the state.
func TestSavedIsLoaded(t *testing.T) {
	folder := t.TempDir()
	f := keeps(folder, 500)
	cut := snapshot.Cut{Taken: tallyfileNoon, Offset: time.Second}
	f.Cut(cut)
	gained(f, 600) // later
	if err := f.Save(cut); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []time.Time{tallyfileNoon.Add(time.Second), tallyfileNoon} {
		again := keeps(folder, 1)
		if err := again.Load(tallyfileNoon.Add(time.Minute), taken); err != nil {
			t.Fatal(err)
		}
		if got := gained(again, 620); got != 120 {
			t.Errorf("counted %d", got)
		}
	}
	again := keeps(folder, 550)
	if err := again.Load(tallyfileNoon.Add(time.Minute), tallyfileNoon.Add(1001*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "begin at what they are now") {
		t.Errorf("older than the state: %v", err)
	}
	if got := gained(again, 560); got != 10 {
		t.Errorf("older than the state: counted %d", got)
	}
}

// Many keys do not fit into one record.
func TestManyKeys(t *testing.T) {
	f := keeps(t.TempDir(), 1)
	s := session(f, tallyfileNoon)
	u := at(1)
	for i := range 20_000 {
		u.Key[14], u.Key[13], u.Numbers[0] = byte(i), byte(i>>8), uint64(i)
		s.Add(u, nil)
	}
	save(t, f, tallyfileNoon)
	again := &tallyFile{Path: f.Path, keys: keys}
	if err := again.Load(tallyfileNoon, tallyfileNoon); err != nil || again.Kept.Stats("ha1").Keys != 20_000 {
		t.Errorf("%v, %+v", err, again.Kept.Stats("ha1"))
	}
}

// Nothing is loaded of a file that is damaged, foreign, or not there, and nothing is kept
// without a folder.
func TestUnusable(t *testing.T) {
	folder := t.TempDir()
	f := keeps(folder, 500)
	if err := f.Load(tallyfileNoon, tallyfileNoon); err != nil || gained(f, 501) != 1 {
		t.Errorf("no file: %v", err)
	}
	save(t, f, tallyfileNoon)
	whole, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if err := os.WriteFile(f.Path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		again := keeps(folder, 500)
		kept := again.Kept
		if err := again.Load(tallyfileNoon.Add(time.Minute), tallyfileNoon); err == nil || again.Kept != kept {
			t.Fatalf("byte %d: %v", i, err)
		}
		_ = os.Remove(f.Path)
	}
	cut := snapshot.Cut{Taken: tallyfileNoon}
	if err := snapshot.SaveNotes(f.Path, cut, slices.Values([][]byte{[]byte("another version's")})); err != nil {
		t.Fatal(err)
	}
	if err := f.Load(tallyfileNoon, tallyfileNoon); err == nil || !strings.Contains(err.Error(), "it is renamed to "+f.Path) {
		t.Error(err)
	}
	if err := f.Load(tallyfileNoon, tallyfileNoon); err != nil {
		t.Errorf("the second start reports it again: %v", err)
	}
	f.Path = ""
	save(t, f, tallyfileNoon)
	if err := f.Load(tallyfileNoon, tallyfileNoon); err != nil {
		t.Error(err)
	}
}

// Where the file cannot be written, the error says so.
func TestSaveFails(t *testing.T) {
	f := keeps(filepath.Join(t.TempDir(), "gone"), 1)
	cut := snapshot.Cut{Taken: tallyfileNoon}
	without := &tallyFile{Path: f.Path, keys: keys, Kept: peers.NewTally(keys)}
	if without.Cut(cut); without.Save(cut) != nil {
		t.Error("a file is written for no HAProxy")
	}
	f.Cut(cut)
	if err := f.Save(cut); err == nil || !strings.Contains(err.Error(), f.Path) {
		t.Error(err)
	}
}
