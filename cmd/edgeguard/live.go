package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/blocks"
	"edgeguard/cmd/edgeguard/doctor"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/observe"
	"edgeguard/cmd/edgeguard/setup"
	"edgeguard/config"
	"edgeguard/enforce/nftables"
	"edgeguard/node"
)

// liveCommands are those that run a node or talk to one.
func liveCommands(e *env) []*cobra.Command {
	seen := observeEnv(e)
	return []*cobra.Command{
		observe.Top(seen), observe.Status(seen), observe.Rules(seen), observe.Events(seen),
		serveCommand(e), blocks.Command(blocksEnv(e)), blocks.AllowCommand(blocksEnv(e)), blocks.ImportsCommand(importsEnv(e)), explainCommand(e), reloadCommand(e),
		CommandCommand(&CommandEnv{Stdout: e.stdout, Stderr: e.stderr, Colour: e.colour, Load: loadConfig, Usage: asUsage}),
		FleetCommand(fleetEnv(e)), ConsoleCommand(&ConsoleEnv{Stdout: e.stdout, Node: askNode, NoArguments: noArguments}), doctor.Command(&doctor.Env{Stdout: e.stdout, Colour: e.colour, DefaultConfig: defaultConfig, Load: loadConfig, Unit: doctor.Read, NoArguments: noArguments}), manCommand(e),
		PresetsCommand(&PresetsEnv{Stdout: e.stdout, Colour: e.colour, NoArguments: noArguments}),
		ListsCommand(&ListsEnv{Stdout: e.stdout, Stderr: e.stderr, Load: loadConfig, NoArguments: noArguments}),
		NotifyCommand(&NotifyEnv{Stdout: e.stdout, Version: buildVersion(), Load: loadConfig, Usage: asUsage, NoArguments: noArguments}),
		setup.Command(setupEnv(e)),
		ImportingCommand(&ImportingEnv{
			Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr, OneArgument: oneArgument, Usage: asUsage,
			End: func(code int, err error) error { return observe.Ended{Code: code, Err: err} },
		}),
		EnforceCommand(&EnforceEnv{
			Stdout: e.stdout, Stderr: e.stderr, Load: loadConfig, Node: askNode, NoArguments: noArguments, Usage: asUsage,
			Getenv: os.Getenv, Peers: nftables.SSHPeersOfHost,
		}),
		Command(&Env{Stdout: e.stdout, Stderr: e.stderr, Colour: e.colour, Node: askNode, NoArguments: noArguments, OneArgument: oneArgument}),
		OverlayCommand(&OverlayEnv{Stdout: e.stdout, Load: loadConfig, Node: askNode, NoArguments: noArguments}),
	}
}

// setupEnv is e as setup uses it.
func setupEnv(e *env) *setup.Env {
	return &setup.Env{
		Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr, DefaultConfig: defaultConfig,
		Unit: doctor.Read, DropIn: "/etc/systemd/system/" + doctor.Name + ".d/setup.conf",
		Check: node.Check, NoArguments: noArguments, Usage: asUsage,
	}
}

// fleetEnv is e as the fleet commands use it.
func fleetEnv(e *env) *FleetEnv {
	return &FleetEnv{
		Stdout: e.stdout, Colour: e.colour, Version: buildVersion(), DefaultConfig: defaultConfig,
		Load: loadConfig, NoArguments: noArguments,
		Node: askNode,
	}
}

// blocksEnv is e as the commands for blocks and allowances use it.
func blocksEnv(e *env) *blocks.Env {
	return &blocks.Env{
		Stdout: e.stdout, Stderr: e.stderr, Colour: e.colour, Node: askNode, NoArguments: noArguments, OneArgument: oneArgument,
		Usage: asUsage,
	}
}

// importsEnv is e as the command for imported blocks uses it.
func importsEnv(e *env) *blocks.ImportsEnv {
	return &blocks.ImportsEnv{Stdout: e.stdout, Colour: e.colour, Node: askNode, NoArguments: noArguments, OneArgument: oneArgument, Usage: asUsage}
}

// observeEnv is e as the commands that show what a node does use it.
func observeEnv(e *env) *observe.Program {
	return &observe.Program{
		Stdout: e.stdout, Colour: e.colour, Width: e.width, Node: askNode, NoArguments: noArguments,
		Usage: asUsage,
	}
}

// askNode declares on c the flags that say where the node is, and returns what asks it.
func askNode(c *cobra.Command) func(context.Context, func(context.Context, *client.Client) error) error {
	var r reach
	r.flags(c)
	return r.ask
}

// askByFlags calls f with a client for the node that the flags of c name.
func askByFlags(ctx context.Context, c *cobra.Command, f func(context.Context, *client.Client) error) error {
	var r reach
	for name, value := range map[string]*string{"config": &r.configFile, "admin": &r.address, "token-file": &r.tokenFile} {
		*value, _ = c.Flags().GetString(name) // "" for a command without the flag
	}
	return r.ask(ctx, f)
}

// reach are the flags that say where the node is.
type reach struct {
	configFile, address, tokenFile string
}

// flags declares them on c.
func (r *reach) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.configFile, "config", "", "config `FILE` with the node's admin address (default "+defaultConfig+" if it is there, else this user's node without a config)")
	f.StringVar(&r.address, "admin", "", "admin `ADDRESS` of the node, host:port or unix:/path, instead of the config's")
	f.StringVar(&r.tokenFile, "token-file", "", "`FILE` with the admin token instead of the config's")
}

// client returns a client for the node: at the given address, or else at the
// config's, a unix socket first because it may change things. Without a config it is
// the node that runs without one. The flaws are the errors of a config that says at least
// where the node is.
func (r *reach) client() (c *client.Client, flaws *config.Errors, err error) {
	at := client.Config{Address: r.address, TokenFile: r.tokenFile}
	name := ""
	if at.Address == "" {
		name, err = findConfig(r.configFile)
		if err == nil && name == "" {
			at.Address, err = nodeaddr.Here().One()
		}
	}
	if err == nil && at.Address == "" {
		flaws, err = r.fromConfig(name, &at)
	}
	if err != nil {
		return nil, nil, err
	}
	c, err = client.New(at)
	return c, flaws, err
}

// fromConfig fills in the address of the config's node, and its token.
func (r *reach) fromConfig(name string, at *client.Config) (*config.Errors, error) {
	listen, flaws, err := nodeaddr.Read(name)
	if err != nil {
		return nil, err
	}
	listener, ok := listen.Preferred()
	if !ok {
		return nil, errors.New("the config has no listen.admin: use --admin ADDRESS")
	}
	at.Address = listener.Address.String()
	if at.TokenFile == "" {
		at.TokenFile = cmp.Or(listener.TokenFile, listener.ReaderTokenFile)
	}
	return flaws, nil
}

// loadConfig reads the named config, or the one at the default place, or else
// gives the built-in one.
func loadConfig(name string) (*config.Config, error) {
	found, err := findConfig(name)
	if err != nil || found == "" {
		return config.Default(), err
	}
	return config.Load(found)
}

// findConfig returns the config's name: the given one, or the default if that is
// there, or nothing.
func findConfig(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	_, err := os.Stat(defaultConfig)
	switch {
	case err == nil:
		return defaultConfig, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	}
	return "", err
}

// ask calls f with a client for the node.
func (r *reach) ask(ctx context.Context, f func(context.Context, *client.Client) error) error {
	c, flaws, err := r.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return nodeaddr.Explain(f(ctx, c), flaws)
}

// oneArgument is cobra's check that a command got exactly one argument.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%s: expected %s", c.Name(), what)}
		}
		return nil
	}
}
