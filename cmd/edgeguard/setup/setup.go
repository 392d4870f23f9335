// Package setup makes a first config from what runs on this host. It has the command
// `edgeguard setup`, which looks for proxies with their logs, says what it found, and
// asks before it writes.
package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/config"
	"edgeguard/internal/logtail"
	"edgeguard/internal/safetext"
	"edgeguard/setup"
)

// Env is what the command uses of the outside world.
type Env struct {
	*command.Env
	DefaultConfig string
	// Unit returns the node's unit, and DropIn is where groups are added to it.
	Unit   func(context.Context) (doctor.Unit, error)
	DropIn string
	// Check is what `edgeguard check` does beyond reading a config.
	Check func(*config.Config) error
}

// options are the flags.
type options struct {
	config               string
	yes, replace, dryRun bool
	nginxLog             bool
	proxies, logs        []string
}

// Command returns the command.
func Command(e *Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "setup",
		Short: "Find the proxies and logs of this host, and write a config that counts from them",
		Long: `setup reads the configurations of nginx, Apache, HAProxy, Caddy and Traefik, and the
last lines of the logs that they name. It says what it found, and writes a config
in mode monitor that counts from these logs, with the presets for what they show:
nothing is blocked. It asks before it writes. A config that was changed is replaced only after a question of its own, or
with --replace; it is kept beside as .bak. Run it as root.

It exits 1 if it finds no log that can be counted, cannot count one that --log names
(nothing is written then), or may not write.`,
		Example: `  edgeguard setup
  edgeguard setup --yes
  edgeguard setup --dry-run > edgeguard.yaml
  edgeguard setup --proxy nginx=/opt/nginx/nginx.conf --log json=/srv/app/access.log`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), e, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.config, "config", e.DefaultConfig, "write this `FILE`")
	f.BoolVar(&o.yes, "yes", false, "write without asking, unless the config is another than the packaged one and than setup would write")
	f.BoolVar(&o.replace, "replace", false, "with --yes: replace any config, and keep it as .bak")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing: print the config")
	f.BoolVar(&o.nginxLog, "nginx-log", false, "also add a log to nginx that has the host and Sec-Fetch-Site, and count from it")
	f.StringArrayVar(&o.proxies, "proxy", nil, "look at this configuration only, `NAME=FILE`, such as nginx=/opt/nginx.conf (may be repeated)")
	f.StringArrayVar(&o.logs, "log", nil, "count this log, too, `FILE` or FORMAT=FILE (may be repeated)")
	return c
}

func run(ctx context.Context, e *Env, o *options) error {
	places, given, err := o.read()
	if err != nil {
		return command.Usage(err)
	}
	report := e.Stdout
	if o.dryRun {
		report = e.Stderr
	}
	u, err := e.Unit(ctx)
	if err != nil {
		fmt.Fprintf(report, "note: %v\n", err)
		u = doctor.Unit{}
	}
	found, sources := find(report, places, given, account(&u))
	if len(o.proxies) == 0 {
		unknown(report, sources)
	}
	if setup.Followed(sources) == 0 {
		return errors.New("found no log that can be counted: name one with --log FILE, or let the proxy ask before each request (edgeguard snippets), which needs no log. Nothing was written")
	}
	if err := leftOut(sources); err != nil {
		return err
	}
	var added setup.Added
	if o.nginxLog {
		var ok bool
		if added, ok = setup.AddLog(found, sources); !ok {
			return errNoPlace
		}
		fmt.Fprintf(report, "nginx: %s makes it write %s, which is counted in place of the log of all virtual hosts\n", safetext.Strip(added.File), safetext.Strip(added.Log))
	}
	printChoices(report, sources)
	own := setup.OwnHosts(found, sources)
	printHosts(report, &own)
	text := setup.Config(sources, own)
	if err := check(e, report, o.config, text); err != nil {
		return err
	}
	if o.dryRun {
		_, err = io.WriteString(e.Stdout, text)
		return err
	}
	w := &writing{env: e, options: o, text: text, dropIn: setup.DropIn(sources), added: added, unit: u, answers: bufio.NewReader(io.LimitReader(e.Stdin, 1000))}
	if err := w.write(); err != nil {
		return err
	}
	w.next(sources)
	return nil
}

// leftOut returns an error if a log that the command line names cannot be counted.
func leftOut(sources []setup.Source) error {
	for i := range sources {
		if s := &sources[i]; s.Proxy == setup.GivenLog && !s.Follow {
			return fmt.Errorf("--log %s cannot be counted, so nothing was written: %s", safetext.Strip(s.File), safetext.Strip(s.Says))
		}
	}
	return nil
}

// read reads the flags that name configurations and logs.
func (o *options) read() (places []setup.Place, given []setup.Log, err error) {
	for _, text := range o.proxies {
		name, file, found := strings.Cut(text, "=")
		if !found || !slices.Contains(setup.ProxyNames(), name) || !strings.HasPrefix(file, "/") {
			return nil, nil, fmt.Errorf("setup: --proxy %q: use NAME=/PATH with one of %s", text, strings.Join(setup.ProxyNames(), ", "))
		}
		if _, err := os.Stat(file); err != nil {
			return nil, nil, fmt.Errorf("setup: --proxy %s: %s: %w", name, file, errors.Unwrap(err))
		}
		places = append(places, setup.Place{Proxy: name, File: file})
	}
	if len(o.proxies) == 0 {
		places = setup.Places()
	}
	for _, text := range o.logs {
		if path, err := filepath.Abs(text); err == nil && text != "" && !strings.Contains(text, "=") {
			text = path
		}
		log, err := setup.Given(text)
		if err != nil {
			return nil, nil, fmt.Errorf("setup: --log %w", err)
		}
		given = append(given, log)
	}
	return places, given, nil
}

// find looks at the host, and prints what it finds.
func find(report io.Writer, places []setup.Place, given []setup.Log, account *setup.Account) (configs []setup.Found, all []setup.Source) {
	seen := map[string]bool{} // whether it is counted
	judge := func(log setup.Log) {
		counted, again := seen[log.File]
		if log.File != "" && again && (counted || log.Proxy != setup.GivenLog) {
			return
		}
		var l setup.Look
		if log.Unusable == "" {
			l = look(log.File)
		}
		s := setup.Judge(log, &l, account, time.Now())
		seen[log.File] = s.Follow
		print(report, &s)
		all = append(all, s)
	}
	for _, place := range places {
		found, err := setup.FindLogs(place, command.ProxyFiles{})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fmt.Fprintf(report, "%s: %s\n", place.Proxy, safetext.Strip(place.File))
		if err != nil {
			fmt.Fprintf(report, "  cannot be read: %s\n", safetext.Strip(err.Error()))
		}
		configs = append(configs, found)
		for _, log := range found.Logs {
			judge(log)
		}
		for _, doubt := range found.Doubts {
			fmt.Fprintf(report, "  note: %s\n", safetext.Strip(doubt))
		}
	}
	for _, log := range given {
		judge(log)
	}
	return configs, all
}

// print says what was found of a log.
func print(w io.Writer, s *setup.Source) {
	word := "left out"
	if s.Follow {
		word = "counted "
	}
	name := s.File
	if name == "" {
		name = s.At
	}
	fmt.Fprintf(w, "  %s  %s: %s\n", word, safetext.Strip(name), safetext.Strip(s.Says))
	if len(s.Groups) > 0 {
		fmt.Fprintf(w, "            the node needs the group %s to read it\n", safetext.Strip(strings.Join(s.Groups, ", ")))
	}
	if s.Fix != "" {
		fmt.Fprintf(w, "            to do: %s\n", safetext.Strip(s.Fix))
	}
}

// printChoices says which presets are written, and why.
func printChoices(w io.Writer, sources []setup.Source) {
	fmt.Fprintf(w, "presets:\n  web        for any site\n  login      for any site\n")
	for _, c := range setup.Choices(sources) {
		fmt.Fprintf(w, "  %-9s  %s\n", c.Preset, safetext.Strip(cmp.Or(c.Why, c.Unseen)))
	}
}

// printHosts says which names of the site are written, or why none.
func printHosts(w io.Writer, own *setup.SiteNames) {
	names := safetext.Strip(strings.Join(own.Names, ", "))
	switch {
	case own.Unsure != "":
		fmt.Fprintf(w, "own_hosts: not written, as %s may not be all: %s\n", names, safetext.Strip(own.Unsure))
	case names != "":
		fmt.Fprintf(w, "own_hosts: %s\n", names)
	}
}

// check does what `edgeguard check` does with a config.
func check(e *Env, report io.Writer, name, text string) error {
	c, err := config.ParseAt(name, []byte(text))
	if err == nil {
		err = e.Check(c)
	}
	if err != nil {
		return fmt.Errorf("the config that would be written is wrong, so nothing was written: %w", err)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(report, "note: %s\n", safetext.Strip(w.String()))
	}
	return nil
}

// exists reports whether there is a file, and its text.
func exists(path string) (text string, there bool, err error) {
	f, _, err := logtail.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", true, err
	}
	defer func() { _ = f.Close() }() // it was only read
	all, err := io.ReadAll(io.LimitReader(f, command.MostProxyFile))
	return string(all), true, err
}

var errNoPlace = errors.New("--nginx-log: nginx's configuration has no access_log of its own in http that is counted, no `include FOLDER/*.conf` there, or that log already: write a log_format with $host and $http_sec_fetch_site yourself. Nothing was written")

var errDeclined = errors.New("nothing was written")
