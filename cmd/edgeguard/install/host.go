package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// Host is the machine: tests have another.
type Host struct {
	Root    string // before the paths of units and sockets
	Systemd bool   // it runs here
	// Run runs a program, and returns what it says.
	Run func(ctx context.Context, name string, args ...string) ([]byte, error)
	// Before is called before a file is changed; nil for nothing.
	Before func(path string)
	// Reload has a node that runs without systemd read its config.
	Reload func(context.Context) error
}

// Here returns this machine; reload is what [Host] says.
func Here(reload func(context.Context) error) Host {
	_, err := os.Stat("/run/systemd/system")
	return Host{
		Systemd: err == nil, Reload: reload,
		Run: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			c := exec.CommandContext(ctx, name, args...)
			c.WaitDelay = time.Second
			return c.CombinedOutput()
		},
	}
}

// must runs a program that must work.
func (r *run) must(ctx context.Context, name string, args ...string) error {
	out, err := r.Run(ctx, name, args...)
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(safetext.Lines(string(out))))
	}
	return nil
}

// restart has edgeguard run with the config and the units as they are.
func (r *run) restart(ctx context.Context) error {
	if !r.Systemd {
		return r.Host.Reload(ctx)
	}
	if err := r.must(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	return r.must(ctx, "systemctl", "restart", "edgeguard")
}

// startOwn brings edgeguard's part into force, and waits for the list that the proxy needs.
func (r *run) startOwn(ctx context.Context) error {
	if len(r.own) > 0 {
		if err := r.startUnits(ctx); err != nil {
			return err
		}
		if err := r.restart(ctx); err != nil {
			return err
		}
	}
	for begun := time.Now(); r.in.List != ""; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(r.in.List); err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Since(begun) > 10*time.Second {
			return fmt.Errorf("the node has not written %s, without which %s would not start: see `edgeguard doctor`", r.in.List, r.in.Proxy)
		}
	}
	return nil
}

// startUnits has systemd do what the units ask for.
func (r *run) startUnits(ctx context.Context) error {
	if !r.Systemd {
		return nil
	}
	for _, p := range r.ownParts() {
		if strings.Contains(p.Path, "/tmpfiles.d/") {
			if err := r.must(ctx, "systemd-tmpfiles", "--create", p.Path); err != nil {
				return err
			}
		}
	}
	if err := r.must(ctx, "systemctl", "daemon-reload"); err != nil {
		return err
	}
	if r.in.Path == "" {
		return nil
	}
	return r.must(ctx, "systemctl", "enable", "--now", r.in.Path)
}

// quiet has systemd do what may be done already.
func (r *run) quiet(ctx context.Context, args ...string) {
	if r.Systemd && args[len(args)-1] != "" {
		_, _ = r.Run(ctx, "systemctl", args...)
	}
}

// settle has what runs be what the files say, after they were put back.
func (r *run) settle(ctx context.Context) error {
	if !r.Systemd {
		_ = r.Host.Reload(ctx) // no node may run here
		return nil
	}
	if _, err := os.Stat(filepath.Join("/", r.Root, "etc/systemd/system", r.in.Path)); err == nil && r.in.Path != "" {
		if err := r.startUnits(ctx); err != nil {
			return err
		}
	}
	if r.ran {
		return r.restart(ctx)
	}
	r.quiet(ctx, "daemon-reload")
	r.quiet(ctx, "stop", "edgeguard")
	return nil
}

// checkProxy has the proxy check its files.
func (r *run) checkProxy(ctx context.Context) error {
	args := slices.Clone(r.in.Check)
	args[slices.Index(args, "FILE")] = r.in.Config
	return r.must(ctx, r.in.Proxy, args...)
}

// reload has the proxy read its files, if it runs.
func (r *run) reload(ctx context.Context) error {
	if !r.Systemd {
		fmt.Fprintf(r.Stdout, "Without systemd, reload %s yourself.\n", r.in.Proxy)
		return nil
	}
	if _, err := r.Run(ctx, "systemctl", "is-active", "--quiet", r.in.Proxy); err != nil && ctx.Err() == nil {
		fmt.Fprintf(r.Stdout, "systemd runs no %s: if it runs otherwise, reload it.\n", r.in.Proxy)
		return nil
	}
	return r.must(ctx, "systemctl", "reload", r.in.Proxy)
}

// monitorLine is where a config says that nothing is refused.
var monitorLine = regexp.MustCompile(`(?m)^(mode:[ \t]*)(monitor|"monitor"|'monitor')`)

// enforce asks whether the node is to refuse from now on, with what it would have refused.
func (r *run) enforce(ctx context.Context) error {
	if !r.before.Monitor {
		return nil
	}
	text, err := read(r.Config)
	if err != nil {
		return err
	}
	would := "the node does not answer, so what would have been refused is not known"
	if s, err := r.Status(ctx); err == nil {
		would = fmt.Sprintf("since %s, %s of %s events would have been refused", words.Instant(s.Started), words.Number(s.Events.WouldBeRefused), words.Number(s.Events.Decided))
	}
	fmt.Fprintf(r.Stdout, "The config has mode: monitor, so nothing is refused: %s. `edgeguard top` shows whose.\n", would)
	if len(monitorLine.FindAllIndex(text, 2)) != 1 {
		fmt.Fprintf(r.Stdout, "When that is right, set mode: enforce in %s, and: edgeguard reload\n", r.Config)
		return nil
	}
	if !r.Yes {
		if err := r.Agreed("Refuse from now on (mode: enforce in " + r.Config + ")?"); err != nil {
			fmt.Fprintf(r.Stdout, "It stays in mode: monitor.\n")
			return nil
		}
	}
	if err := r.files.write([]change{{r.Config, text, monitorLine.ReplaceAll(text, []byte("${1}enforce"))}}); err != nil {
		return r.undo(ctx, fmt.Errorf("it stays in mode: monitor: %w", err))
	}
	if err := r.restart(ctx); err != nil {
		return r.undo(ctx, fmt.Errorf("it stays in mode: monitor: %w", err))
	}
	fmt.Fprintf(r.Stdout, "mode: enforce is in force.\n")
	return r.files.finish()
}
