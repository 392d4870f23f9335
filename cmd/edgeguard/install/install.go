// Package install puts a snippet into a proxy's own files, and takes it out again: it shows what changes,
// asks, has the proxy check it, and puts every file back where something fails or was interrupted.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"edgeguard/admin"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/config/yaml"
	"edgeguard/internal/safepath"
	"edgeguard/internal/safetext"
	"edgeguard/setup"
)

// Env is what the command uses of the outside world.
type Env struct {
	*command.Env
	Host
	// Check is what `edgeguard check` does beyond reading a config.
	Check func(*config.Config) error
	// Status asks the running node.
	Status func(context.Context) (admin.Stats, error)
}

// Options are what the command line says.
type Options struct {
	Snippet string
	Config  string // edgeguard's
	Proxy   string // where the proxy's configuration begins; empty: as packaged
	Yes     bool
	DryRun  bool
	Without []string // sites that get no lines, by name or FILE:LINE
}

// run is one install or removal.
type run struct {
	*Env
	Options
	in     snippets.Install
	values snippets.Values
	files  files
	found  setup.Found
	wired  setup.Wired
	before *config.Config
	ran    bool     // edgeguard's unit did
	own    []change // edgeguard's part
	proxy  []change
}

// Install installs a snippet. The values are asked for when the config is whole.
func Install(ctx context.Context, e *Env, o Options, values func() snippets.Values) error {
	r, err := begin(ctx, e, o, values)
	if err != nil {
		return err
	}
	defer r.files.release()
	if err := r.plan(r.wired.Texts, false); err != nil {
		return err
	}
	if err := r.carry(ctx, o.Snippet+" is installed", r.install); err != nil || o.DryRun {
		return err
	}
	return r.enforce(ctx)
}

// carry shows what changes, asks, and does it.
func (r *run) carry(ctx context.Context, done string, do func(context.Context) error) error {
	r.show()
	if r.before != nil {
		fmt.Fprintf(r.Stdout, "Counted: %s.\n", safetext.Strip(cmp.Or(strings.Join(r.logsCounted(), ", "), "what "+r.Config+" names, and this piece")))
	}
	switch {
	case r.DryRun:
		return nil
	case len(r.own)+len(r.proxy) == 0:
		fmt.Fprintf(r.Stdout, "%s: there is nothing to do.\n", done)
		return nil
	case !r.Yes:
		if err := r.Agreed("Change these files, and reload " + r.in.Proxy + "?"); err != nil {
			return err
		}
	}
	if err := do(ctx); err != nil {
		return r.undo(ctx, err)
	}
	fmt.Fprintf(r.Stdout, "%s. What was there is in %s.\n", done, r.files.folder)
	return r.files.finish()
}

// begin reads what is there.
func begin(ctx context.Context, e *Env, o Options, values func() snippets.Values) (*run, error) {
	r, err := newRun(ctx, e, o, values)
	if err != nil {
		return nil, err
	}
	in := &r.in
	if r.before, err = config.Load(o.Config); err != nil {
		return nil, fmt.Errorf("%w: `edgeguard setup` writes a config", err)
	}
	texts := &unmarked{read: map[string]string{}}
	if r.found, err = setup.FindLogs(setup.Place{Proxy: in.Proxy, File: in.Config}, texts); err != nil {
		return nil, fmt.Errorf("%w: is %s installed? --proxy FILE names where its configuration begins", err, in.Proxy)
	}
	if _, err := exec.LookPath(in.Proxy); err != nil {
		return nil, fmt.Errorf("%s is not installed: %w", in.Proxy, err)
	}
	if logs := r.logsCounted(); len(logs) > 0 && in.Proxy == "haproxy" && r.values.Log != logs[0] {
		r.values.Log, r.values.Unlogged = logs[0], false
		if r.in, err = snippets.InstallOf(o.Snippet, o.Proxy, r.values); err != nil {
			return nil, err
		}
	}
	if len(r.found.Sites) == 0 {
		return nil, fmt.Errorf("%s: no site was found that could refuse: %s", in.Config, strings.Join(r.found.Doubts, "; "))
	}
	if err := r.wire(texts); err != nil {
		return nil, err
	}
	return r, r.counted()
}

// newRun returns a run, after what an interrupted one has done is taken back.
func newRun(ctx context.Context, e *Env, o Options, values func() snippets.Values) (*run, error) {
	in, err := snippets.InstallOf(o.Snippet, o.Proxy, snippets.Values{})
	if err != nil {
		return nil, command.Usage(err)
	}
	if o.Config, err = filepath.Abs(o.Config); err != nil {
		return nil, err
	}
	_, off := e.Run(ctx, "systemctl", "is-active", "--quiet", "edgeguard")
	r := &run{Env: e, Options: o, in: in, ran: off == nil, files: files{folder: filepath.Join(filepath.Dir(o.Config), "originals", o.Snippet), before: e.Before}}
	if err = r.takeBack(ctx); err == nil {
		r.values = values()
		r.in, err = snippets.InstallOf(o.Snippet, o.Proxy, r.values)
	}
	if err != nil {
		r.files.release()
		return nil, withRoot(err)
	}
	return r, nil
}

// takeBack undoes what an interrupted run has done.
func (r *run) takeBack(ctx context.Context) error {
	left, err := r.files.resume()
	switch {
	case err != nil || !left:
		return err
	case r.DryRun:
		return errors.New("an earlier run was interrupted: without --dry-run its files are first put back")
	}
	if err := r.undo(ctx, nil); err != nil {
		return err
	}
	fmt.Fprintln(r.Stdout, "An earlier run was interrupted: its files are as they were before it.")
	return r.reload(ctx)
}

// logsCounted returns the logs of the proxy that the config counts.
func (r *run) logsCounted() (files []string) {
	for _, log := range r.found.Logs {
		if log.File != "" && slices.ContainsFunc(r.before.Sensors.AccessLog, func(l config.AccessLog) bool { return l.File == log.File }) {
			files = append(files, log.File)
		}
	}
	return files
}

// wire finds the lines that the proxy's files get.
func (r *run) wire(texts *unmarked) (err error) {
	w := r.in.Wiring
	w.Host, _ = os.Hostname()
	named := func(s *setup.Site, text string) bool { return s.At == text || slices.Contains(s.Names, text) }
	w.Skip = func(s *setup.Site) bool {
		return slices.ContainsFunc(r.Without, func(text string) bool { return named(s, text) })
	}
	for _, text := range r.Without {
		if !slices.ContainsFunc(r.found.Sites, func(s setup.Site) bool { return named(&s, text) }) {
			return command.Usage(fmt.Errorf("snippets: --without %q: %s has no such site", text, r.in.Config))
		}
	}
	r.wired, err = r.found.Wire(&w, texts)
	for file, text := range texts.read { // what has lines of an earlier install, and no site now
		if _, ok := r.wired.Texts[file]; !ok && err == nil {
			r.wired.Texts[file] = text
		}
	}
	return err
}

// unmarked reads a proxy's files without the lines of edgeguard.
type unmarked struct {
	command.ProxyFiles
	read map[string]string
}

// Read implements setup.Files.
func (u *unmarked) Read(path string) (string, error) {
	text, err := u.ProxyFiles.Read(path)
	if err == nil {
		text = setup.Unmark(text)
		u.read[path] = text
	}
	return text, err
}

// plan finds what changes: edgeguard's files, those of the proxy for all sites, and its own, each once
// whatever links lead to it.
func (r *run) plan(texts map[string]string, removal bool) error {
	proxy := r.proxyOwn()
	for _, p := range proxy {
		delete(texts, p.Path)
	}
	for changes, parts := range map[*[]change][]snippets.Part{&r.own: r.ownParts(), &r.proxy: proxy} {
		for _, p := range parts {
			text := []byte(p.Text)
			if removal {
				text = nil
			}
			if err := plan(changes, p.Path, text); err != nil {
				return err
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.proxy, func(c change) bool { return c.path == real }) {
			continue
		}
		known := len(r.proxy)
		if err := plan(&r.proxy, real, []byte(texts[file])); err != nil {
			return err
		}
		if len(r.proxy) > known {
			place, err := safepath.Open(file) // a link of another user could lead to any file
			if err != nil {
				return err
			}
			_ = place.Close() // it was only looked at
		}
	}
	return nil
}

// plan adds what brings a file to its text, if it has another; a nil text removes it.
func plan(changes *[]change, path string, text []byte) error {
	before, err := read(path)
	if err == nil && !same(before, text) {
		*changes = append(*changes, change{path, before, text})
	}
	return err
}

// proxyOwn returns the files that the proxy gets for all sites.
func (r *run) proxyOwn() (parts []snippets.Part) {
	for _, p := range r.in.Files {
		p.Path = cmp.Or(p.Path, r.wired.Common)
		parts = append(parts, p)
	}
	return parts
}

// unlogged returns where sites are that get a log.
func (r *run) unlogged() (at []string) {
	for i := range r.wired.Sites {
		if s := &r.wired.Sites[i]; r.in.Log != "" && !s.Logs {
			at = append(at, s.At)
		}
	}
	return at
}

// ownParts returns edgeguard's files, with their places: units only where systemd is.
func (r *run) ownParts() (parts []snippets.Part) {
	for _, p := range r.in.Own {
		if !filepath.IsAbs(p.Path) {
			p.Path = filepath.Join(filepath.Dir(r.Config), p.Path)
		} else if p.Path = filepath.Join("/", r.Root, p.Path); !r.Systemd {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// show says what changes, and what does not.
func (r *run) show() {
	for _, c := range slices.Concat(r.own, r.proxy) {
		fmt.Fprint(r.Stdout, safetext.Lines(unified(&c)))
	}
	for i := range r.wired.Without {
		s := &r.wired.Without[i]
		why := "left out"
		if s.Unfit != "" {
			why = s.Unfit
		}
		fmt.Fprintf(r.Stdout, "Nothing is refused at %s %s: %s.\n", safetext.Strip(s.At), safetext.Strip(strings.Join(s.Names, " ")), why)
	}
	for _, text := range r.found.Missed {
		fmt.Fprintf(r.Stdout, "Not all was reached: %s.\n", safetext.Strip(text))
	}
	if r.in.Proxy == "haproxy" && len(r.in.Wiring.Inner) > 0 {
		for i := range r.wired.Sites {
			if s := &r.wired.Sites[i]; s.Logs {
				fmt.Fprintf(r.Stdout, "The log of %s %s stays as it is: it has a log-format of its own.\n", safetext.Strip(s.At), safetext.Strip(strings.Join(s.Names, " ")))
			}
		}
	}
}

// counted fails where nothing would count what the proxy answers.
func (r *run) counted() error {
	logs := r.before.Sensors.AccessLog
	if sites := r.unlogged(); len(sites) > 0 && !slices.ContainsFunc(logs, func(l config.AccessLog) bool { return l.File == r.in.Log }) {
		return fmt.Errorf("the sites at %s have no log, and %s counts none that they could write: edgeguard setup --log json=%s", strings.Join(sites, ", "), r.Config, r.in.Log)
	}
	if r.in.Proxy != "haproxy" && len(logs) == 0 {
		return fmt.Errorf("%s counts no log, and this snippet only refuses: first run `edgeguard setup`, which counts the logs of this host", r.Config)
	}
	return nil
}

// install does it: edgeguard's part, the list, the proxy's files, the proxy's check. Until the proxy is
// reloaded, a run that is killed counts as one that failed.
func (r *run) install(ctx context.Context) error {
	if err := r.files.write(r.own); err != nil {
		return err
	}
	if err := r.checkConfig(); err != nil {
		return err
	}
	if err := r.startOwn(ctx); err != nil {
		return err
	}
	if err := r.files.write(r.proxy); err != nil {
		return err
	}
	if err := r.checkProxy(ctx); err != nil {
		return err
	}
	if err := r.reload(ctx); err != nil || !r.Systemd {
		return err
	}
	return r.must(ctx, "systemctl", "enable", "edgeguard")
}

// checkConfig checks the config with its piece. A second counter is refused.
func (r *run) checkConfig() error {
	c, err := config.Load(r.Config)
	if err == nil {
		err = r.Check(c)
	}
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		if text := w.String(); config.CountsTwice(&w) && !slices.ContainsFunc(r.before.Warnings, func(old yaml.Fault) bool { return old.String() == text }) {
			return errors.New(text)
		}
	}
	return nil
}

// undo puts everything back after an error, or what an interrupted run has changed where there is none.
func (r *run) undo(ctx context.Context, err error) error {
	ctx = context.WithoutCancel(ctx)
	err = withRoot(err)
	if len(r.files.done) > 0 {
		r.quiet(ctx, "disable", "--now", r.in.Path) // its file may go
		if failed := r.files.back(); failed != nil {
			return errors.Join(err, failed)
		}
		err = errors.Join(err, r.settle(ctx))
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nEvery file is as it was", err)
}
