package enforce

import (
	"bufio"
	"os"

	"edgeguard/internal/atomicfile"
	"edgeguard/internal/safepath"
)

// newFileMode is the mode of a file that was not there.
const newFileMode = 0o644

// writeFile replaces the file at a place by what render writes. The new file keeps
// the mode and, as far as this process may, the owner of the old one.
func writeFile(place *safepath.Place, render func(w *bufio.Writer)) (os.FileInfo, error) {
	f, err := atomicfile.Create(place, atomicfile.Options{Mode: newFileMode, Inherit: true})
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	w := bufio.NewWriterSize(f, 64<<10)
	render(w)
	if err := w.Flush(); err != nil {
		return nil, err
	}
	return f.Commit()
}
