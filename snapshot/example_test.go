package snapshot_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"edgeguard/ring"
	"edgeguard/snapshot"
)

func Example() {
	dir, err := os.MkdirTemp("", "edgeguard")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state")
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	meter := snapshot.Meter{Fingerprint: "0123456789abcdef", Width: 5}

	_, err = snapshot.LoadFile(path, now, snapshot.Sink{})
	fmt.Println("first start:", errors.Is(err, fs.ErrNotExist))

	w, err := snapshot.Create(path, snapshot.Cut{Node: "edge-1", Taken: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	win := snapshot.Window{Prefix: netip.MustParsePrefix("203.0.113.45/32"), Head: uint32(now.Unix() / 5)}
	win.Counts.Add(win.Head, 1200)
	win.Counts.Add(win.Head-50, 700)
	w.Meter(meter)
	w.Window(&win)
	w.Position(snapshot.Position{Source: "/var/log/nginx/access.log", Place: []byte("offset 123")})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}

	// A minute and a half later the 700 have left the window.
	later := now.Add(90 * time.Second)
	loaded, err := snapshot.LoadFile(path, later, snapshot.Sink{
		Meter: func(m snapshot.Meter) func(*snapshot.Window) {
			if m != meter {
				return nil // no rule counts by it any more
			}
			return func(w *snapshot.Window) {
				r := ring.New(w.Head, w.Counts)
				fmt.Println(w.Prefix.Addr(), "has", r.Count(w.Head))
			}
		},
		Position: func(p snapshot.Position) { fmt.Printf("%s goes on at %s\n", p.Source, p.Place) },
	})
	fmt.Println(loaded.Windows, "windows of", loaded.Node, err)
	// Output:
	// first start: true
	// 203.0.113.45 has 1200
	// /var/log/nginx/access.log goes on at offset 123
	// 1 windows of edge-1 <nil>
}
