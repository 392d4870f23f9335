package setup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/atomicfile"
	"edgeguard/internal/words"
	"edgeguard/packaging"
	"edgeguard/setup"
)

// writing is the config, and perhaps a drop-in, on the way to their places.
type writing struct {
	env          *Env
	options      *options
	text, dropIn string
	added        setup.Added // to nginx's configuration
	unit         doctor.Unit
	answers      *bufio.Reader
}

// write asks, and writes: what is added to nginx last, because the config counts from it alone.
func (w *writing) write() error {
	if w.added.File == "" {
		return w.writeConfig()
	}
	if err := w.agreed("Write "+w.added.File+"? It has nginx write a log for edgeguard beside its own.", w.options.yes); err != nil {
		return err
	}
	if err := w.writeConfig(); err != nil {
		return err
	}
	return put(w.added.File, w.added.Text)
}

func (w *writing) writeConfig() error {
	path := w.options.config
	old, there, err := exists(path)
	switch {
	case err != nil:
		return err
	case there && old == w.text:
		fmt.Fprintf(w.env.Stdout, "\n%s is as it would be written.\n", path)
	case there && old != packaging.Config:
		if err := w.agreed(fmt.Sprintf("%s differs from what setup would write. Replace it, and keep it as %s.bak?", path, path), w.options.yes && w.options.replace); err != nil {
			return err
		}
		if err := keep(path, old); err != nil {
			return err
		}
		err = put(path, w.text)
	default:
		if err := w.agreed("Write "+path+"?", w.options.yes); err != nil {
			return err
		}
		err = put(path, w.text)
	}
	if err != nil || w.dropIn == "" || !w.unit.Found || path != w.env.DefaultConfig {
		return err
	}
	if err := w.agreed("Add the groups to the unit, in "+w.env.DropIn+"?", w.options.yes); err != nil {
		return err
	}
	return put(w.env.DropIn, w.dropIn)
}

// agreed asks a question, unless the flags answer it.
func (w *writing) agreed(question string, yes bool) error {
	if yes {
		return nil
	}
	if w.options.yes {
		return fmt.Errorf("%s differs from what setup would write, so it is not replaced: look at `edgeguard setup --dry-run`, and add --replace to replace it", w.options.config)
	}
	fmt.Fprintln(w.env.Stdout)
	agreed, err := command.Ask(w.env.Stdout, w.answers, question)
	switch {
	case err != nil:
		return fmt.Errorf("no answer, so %w: use --yes in scripts", errDeclined)
	case !agreed:
		return errDeclined
	}
	return nil
}

// put writes a file as a whole. A new one can be read by everybody, as the packaged one:
// secrets are in files of their own.
func put(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Replace(path, []byte(text), atomicfile.Options{Mode: 0o644, Inherit: true})
}

// mostKept is how many replaced configs are kept.
const mostKept = 100

// keep writes a config beside itself, under a name that nothing has yet.
func keep(path, text string) error {
	for i := range mostKept {
		name := path + ".bak"
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, text)
		return errors.Join(err, f.Sync(), f.Close())
	}
	return fmt.Errorf("%s has %d copies beside it: remove some", path, mostKept)
}

// next prints what to do now.
func (w *writing) next(sources []setup.Source) {
	out := w.env.Stdout
	other := ""
	if w.options.config != w.env.DefaultConfig {
		other = " --config " + w.options.config
	}
	fmt.Fprintf(out, "\n%s counts from %s, and blocks nothing yet.\nNext:\n", w.options.config, words.Plural(setup.Followed(sources), "log", "logs"))
	if w.added.File != "" {
		fmt.Fprintf(out, "  nginx -t && systemctl reload nginx\n")
	}
	fmt.Fprintf(out, "  edgeguard doctor%s\n", other)
	switch {
	case other != "":
		fmt.Fprintf(out, "  edgeguard serve%s\n", other)
	case w.unit.Active && w.dropIn != "":
		fmt.Fprintf(out, "  systemctl daemon-reload\n  systemctl restart edgeguard\n")
	case w.unit.Active:
		fmt.Fprintf(out, "  systemctl reload edgeguard\n")
	default:
		fmt.Fprintf(out, "  systemctl enable --now edgeguard\n")
	}
	fmt.Fprintf(out, "  edgeguard top%s\n", other)
	said := map[string]bool{}
	for i := range sources {
		for _, name := range recipes[sources[i].Proxy] {
			if !sources[i].Follow || said[name] {
				continue
			}
			if len(said) == 0 {
				fmt.Fprintf(out, "When it would block the right addresses, have them refused:\n")
			}
			said[name] = true
			how := other
			if slices.Contains(snippets.Installable(), name) {
				how = " --install" + other
			}
			fmt.Fprintf(out, "  edgeguard snippets %s%s   # %s\n", name, how, snippets.About(name))
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(out, "Nothing is refused before `mode: enforce` is in %s and the node has read it: edgeguard reload%s\n", w.options.config, other)
	}
}

// recipes are the snippets by which each proxy, or the kernel before it, refuses.
var recipes = map[string][]string{
	"nginx": {"nginx-names", "nginx", "nginx-geo"}, "haproxy": {"haproxy-peers"}, "caddy": {"caddy-names", "caddy"}, "traefik": {"traefik"}, "apache": {"nft"}, setup.GivenLog: {"nft"},
}
