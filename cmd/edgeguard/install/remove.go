package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/setup"
)

// Remove takes a snippet out of the files into which [Install] put it.
func Remove(ctx context.Context, e *Env, o Options, values func() snippets.Values) error {
	r, err := newRun(ctx, e, o, values)
	if err != nil {
		return err
	}
	defer r.files.release()
	texts := &unmarked{read: map[string]string{}}
	r.found, err = setup.FindLogs(setup.Place{Proxy: r.in.Proxy, File: r.in.Config}, texts)
	gone := err != nil // the proxy was removed before
	w := r.in.Wiring
	w.Skip, w.End = func(*setup.Site) bool { return true }, nil
	wired, err := r.found.Wire(&w, texts)
	if err != nil {
		return err
	}
	r.wired.Common = wired.Common
	if err := r.plan(texts.read, true); err != nil {
		return err
	}
	return r.carry(ctx, o.Snippet+" is not installed", func(ctx context.Context) error { return r.remove(ctx, gone) })
}

// remove does it: first the proxy, which does not start while a file that it names is missing.
func (r *run) remove(ctx context.Context, gone bool) error {
	// The lines that name a file go before the file.
	slices.Reverse(r.proxy)
	if err := r.files.write(r.proxy); err != nil {
		return err
	}
	if _, err := exec.LookPath(r.in.Proxy); err == nil && !gone && len(r.proxy) > 0 {
		if err := r.checkProxy(ctx); err != nil {
			return err
		}
		if err := r.reload(ctx); err != nil {
			return err
		}
	}
	r.quiet(ctx, "disable", "--now", r.in.Path)
	if err := r.files.write(r.own); err != nil {
		return err
	}
	if err := r.restart(ctx); err != nil {
		return err
	}
	// What the node or the proxy has made.
	for _, path := range r.in.Leaves {
		path = filepath.Join(r.Root, path)
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() != 0 { // no file with a text
			_ = os.Remove(path) // a folder with other things in it stays
		}
	}
	return nil
}
