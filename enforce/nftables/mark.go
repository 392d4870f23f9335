package nftables

import (
	"errors"
	"io/fs"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

// TrialMarkName is the name, in the state folder, of a file that keeps a list paused over a
// restart.
const TrialMarkName = "kernel-paused"

// mostMark bounds what is read of a mark, in bytes.
const mostMark = 512

// TrialMark is a file whose being there says that the list is paused, and whose text says
// why. A damaged one says so too: its error is that the kernel drops nothing.
type TrialMark struct{ Path string }

// WriteMark writes the mark, on the disk when it returns.
func (m TrialMark) WriteMark(why string) error {
	return atomicfile.Replace(m.Path, []byte(why), atomicfile.Options{Mode: 0o644})
}

// Remove removes the mark, on the disk when it returns.
func (m TrialMark) Remove() error {
	place, err := safepath.Open(m.Path)
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }()
	if err := place.Remove(place.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return place.Sync()
}

// Read reports whether the list is paused, and why. A mark that cannot be read is one.
func (m TrialMark) Read() (why string, paused bool) {
	text, err := safepath.ReadOwn(m.Path, mostMark)
	if err != nil {
		return err.Error(), !errors.Is(err, fs.ErrNotExist)
	}
	return string(text), true
}
