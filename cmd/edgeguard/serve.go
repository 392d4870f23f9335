package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/config"
	"edgeguard/node"
)

// serving are the flags of serve.
type serving struct {
	configFile string
	logs       []string
	format     string
	monitor    bool
	presets    *[]string
	trial      trialFlags
}

func serveCommand(e *command.Env) *cobra.Command {
	var s serving
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run a node: count, decide, block",
		Long: `serve runs a node until it receives SIGTERM. Without a config it has one rule,
2,000 requests per 5 minutes and address, answers forward auth on
127.0.0.1:9180 and admin requests on 127.0.0.1:9190, and keeps nothing on disk but
a unix socket in $XDG_RUNTIME_DIR or /tmp, which only its user and root may open.

--listen, --admin and --threshold run such a node for a trial, also beside another
one: they read no config. Commands reach it with --admin and the address that serve
prints.

SIGHUP reloads the config. SIGTERM ends the node after it has answered the
requests in progress; a second SIGTERM ends it immediately.`,
		Example: `  edgeguard serve
  edgeguard serve --log /var/log/nginx/access.log --monitor      # a trial that blocks nothing
  edgeguard serve --log /var/log/nginx/access.log --monitor --preset web --preset wordpress
  edgeguard serve --listen 127.0.0.1:9181 --admin 127.0.0.1:9191 --threshold 100     # beside another node
  edgeguard serve --config /etc/edgeguard/edgeguard.yaml`,
		Args: command.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), e) },
	}
	s.presets = presetFlag(c, "also use the shipped rules `NAME` (may be repeated; see edgeguard presets)")
	f := c.Flags()
	f.StringVar(&s.configFile, "config", "", "config `FILE` (default "+command.DefaultConfig+" if it is there)")
	f.StringSliceVar(&s.logs, "log", nil, "also follow this access log `FILE` (may be repeated)")
	f.StringVar(&s.format, "format", "auto", "`FORMAT` of the logs given with --log")
	f.StringSliceVar(&s.trial.listen, "listen", nil, "a trial without a config: answer forward auth at `ADDRESS`, host:port or unix:/path (may be repeated)")
	f.StringSliceVar(&s.trial.admin, "admin", nil, "a trial without a config: answer admin requests at `ADDRESS` (may be repeated)")
	f.Uint32Var(&s.trial.threshold, "threshold", 0, "a trial without a config: the `EVENTS` that its rule allows in 5 minutes (default 2000)")
	f.BoolVar(&s.monitor, "monitor", false, "enforce nothing and report everything (mode: monitor)")
	return c
}

// file returns the config's name, and none for a trial, which reads no file.
func (s *serving) file() (string, error) {
	switch {
	case !s.trial.given():
		return command.FindConfig(s.configFile)
	case s.configFile != "":
		return "", command.Usage(errors.New("serve: --listen, --admin and --threshold are for a trial without a config: set them in the file that --config names"))
	case s.trial.threshold > 0 && len(*s.presets) > 0:
		return "", command.Usage(errors.New("serve: --preset has rules and --threshold makes one: use one of them"))
	}
	return "", nil
}

// load reads the config and puts the flags on top. named is false where there
// is no file.
func (s *serving) load() (c *config.Config, named bool, err error) {
	name, err := s.file()
	if err != nil {
		return nil, false, err
	}
	if name == "" {
		if c, err = s.trial.config(); err != nil {
			return nil, false, command.Usage(fmt.Errorf("serve: %w", err))
		}
	} else if c, err = config.Load(name); err != nil {
		return nil, true, err
	}
	if c, err = withPresets(c, *s.presets, name == ""); err != nil {
		return nil, name != "", command.Usage(err)
	}
	for _, log := range s.logs {
		if log, err = filepath.Abs(log); err != nil {
			return nil, name != "", err
		}
		c.Follow(log, s.format)
	}
	c.Monitor = c.Monitor || s.monitor
	return c, name != "", nil
}

// run is the command. An error of a node whose log is JSON is a message of that log.
func (s *serving) run(ctx context.Context, e *command.Env) error {
	c, named, err := s.load()
	if err != nil {
		return err
	}
	messages := newLog(e.Stderr, os.Getenv("JOURNAL_STREAM") != "")
	messages.set(c.Log.JSON, c.Log.Level)
	if err = s.serve(ctx, e, messages, c, named); err != nil && c.Log.JSON {
		messages.logger().Error(err.Error())
		return command.Ended{Code: exitError}
	}
	return err
}

// serve runs the node.
func (s *serving) serve(ctx context.Context, e *command.Env, messages *logFile, c *config.Config, named bool) error {
	log := messages.logger()
	if !named {
		if path, err := nodeaddr.Here().New(); err == nil {
			c.Listen.AddSocket(path)
		} else {
			log.Warn("no unix socket, so browsers can look and not log in", "err", err)
		}
	}
	options := node.Options{
		Log: log, Version: buildVersion(), Ready: func() { announceStart(e, messages, c, named) },
		Reloaded: func(c *config.Config) { messages.set(c.Log.JSON, c.Log.Level) },
	}
	if named {
		options.Load = func() (*config.Config, error) {
			next, _, err := s.load()
			return next, err
		}
	}
	for _, w := range c.Warnings {
		log.Warn("config: " + w.String())
	}
	boundHeap(c)
	node, err := node.New(c, options)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }) // a second one ends the process
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	go func() {
		for {
			select {
			case <-hangups:
				_ = node.Reload() // it logs its error
			case <-ctx.Done():
				return
			}
		}
	}()
	return node.Run(ctx)
}

// boundHeap has the garbage collector work harder before all that is not counts,
// which lie outside of its heap, takes more than 3/4 of what the blocks may and 24 MiB; in a
// fleet and where Envoys ask more, for what these have: otherwise a peer that holds calls
// would keep the collector busy, and all questions would wait. It is not a hard cap. Whoever
// set GOMEMLIMIT knows better.
func boundHeap(c *config.Config) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := (int64(c.MaxBlocks)+int64(c.MaxImported))*config.BlockBytes*3/4 + 24<<20
	if c.Fleet != nil {
		limit += 256 << 20
	}
	for _, l := range c.Listen.Envoy {
		limit += int64(l.Connections) * config.EnvoyConnectionBytes
	}
	debug.SetMemoryLimit(limit)
}
