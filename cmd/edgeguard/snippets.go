package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/install"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/node"
	"edgeguard/setup"
)

// snippetsCommand returns `edgeguard snippets`.
func snippetsCommand(e *command.Env) *cobra.Command {
	var s snippetFlags
	c := &cobra.Command{
		Use:   "snippets [NAME]",
		Short: "Print what puts edgeguard beside a proxy or packet filter: its config, units and commands",
		Long: `snippets NAME prints the configuration of a proxy or packet filter that uses
edgeguard. The other files that it requires, the commands that install it, and those
that check that it refuses follow as comments. --file prints one of them alone. The
tests of edgeguard run the same text. Without a name it lists the names.

With --install it is put into the files of this host (` + strings.Join(snippets.Installable(), ", ") + `):
edgeguard's part is a file of its own in conf.d, and the proxy's files get marked lines.
It shows all of this as a diff, and asks. The proxy checks its files before it is
reloaded; where that fails, every file is put back. The last question is mode: enforce,
so that blocked addresses are refused. --remove takes it all out again.

--check shows that it refuses: it blocks 127.0.0.2 on the running node, asks the site
from there until it is refused, from 127.0.0.1 too, and lifts the block or waits until
the answer says to come again. The site must be on this host, and the mode enforce.`,
		Example: `  edgeguard snippets
  edgeguard snippets nginx-names --install
  edgeguard snippets nginx-names --remove
  edgeguard snippets nginx --auth unix:/run/edgeguard/auth.sock --backend 127.0.0.1:3000
  edgeguard snippets nginx > /etc/nginx/conf.d/site.conf
  edgeguard snippets nginx --check
  edgeguard snippets caddy --check --url https://example.org/`,
		ValidArgs: snippets.Names(),
		Args:      command.AtMostOneArgument("snippets: expected one of " + strings.Join(snippets.Names(), ", ")),
		RunE:      func(c *cobra.Command, args []string) error { return s.run(c, e, args) },
	}
	s.declare(c)
	return c
}

// snippetFlags is what the flags say.
type snippetFlags struct {
	v                      snippets.Values
	configFile, file, site string
	agreed, check, in, out bool
	o                      install.Options
}

func (s *snippetFlags) run(c *cobra.Command, e *command.Env, args []string) error {
	if len(args) == 0 && (s.check || s.in || s.out) {
		return command.Usage(errors.New("snippets: --check, --install and --remove require the name of a snippet, such as nginx-names"))
	}
	if len(args) == 0 {
		return listSnippets(e)
	}
	if s.check {
		return checkSnippet(c.Context(), e, nodeaddr.Given(c), args[0], cmp.Or(s.site, "http://127.0.0.1:"+cmp.Or(s.v.Listen, "80")+"/"))
	}
	if args[0] == "nginx-names" && !s.agreed && !s.out {
		if err := refuseCached(cmp.Or(s.o.Proxy, "/etc/nginx/nginx.conf")); err != nil {
			return err
		}
	}
	values := func() snippets.Values {
		valuesFromConfig(&s.v, e, args[0], s.configFile)
		return s.v
	}
	if !s.in && !s.out {
		return writeSnippet(e, args[0], s.file, values())
	}
	s.o.Snippet, s.o.Config = args[0], cmp.Or(s.configFile, command.DefaultConfig)
	do := install.Install
	if s.out {
		do = install.Remove
	}
	return do(c.Context(), installEnv(e, nodeaddr.Given(c), s.o.Config), s.o, values)
}

func (s *snippetFlags) declare(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.file, "file", "", "print this `PART` alone, such as proxy, config or service")
	f.BoolVar(&s.check, "check", false, "show on the running node that it refuses")
	f.StringVar(&s.site, "url", "", "--check: the site's `URL`; a name is asked for at 127.0.0.1 (default http://127.0.0.1/ with the port of --listen)")
	f.StringVar(&s.v.Auth, "auth", "", "forward auth `ADDRESS` or unix:/path (default from the config, preferring a unix socket where the proxy supports it; else 127.0.0.1:9180)")
	f.StringVar(&s.configFile, "config", "", "config `FILE` with the forward auth address and the state folder (default /etc/edgeguard/edgeguard.yaml if it is there)")
	f.StringVar(&s.v.Listen, "listen", "", "`PORT` of the site (default 80)")
	f.StringVar(&s.v.Backend, "backend", "", "backend of the site, `HOST:PORT` (default 127.0.0.1:8080)")
	f.BoolVar(&s.v.Closed, "closed", false, "refuse requests while edgeguard does not answer (by default they pass)")
	f.BoolVar(&s.in, "install", false, "put it into the files of this host, and reload the proxy")
	f.BoolVar(&s.out, "remove", false, "take it out of the files of this host, and reload the proxy")
	c.MarkFlagsMutuallyExclusive("install", "remove", "check", "file")
	f.BoolVar(&s.o.Yes, "yes", false, "answer every question of --install or --remove with yes, that for mode: enforce, too")
	f.BoolVar(&s.o.DryRun, "dry-run", false, "only show what --install or --remove would change")
	f.StringArrayVar(&s.o.Without, "without", nil, "install nothing into this `SITE`: its name, or FILE:LINE (may be repeated)")
	f.StringVar(&s.o.Proxy, "proxy", "", "`FILE` where the proxy's configuration begins (default that of its package)")
	f.BoolVar(&s.agreed, "with-open-file-cache", false, "nginx-names: print it although nginx has an open_file_cache")
	f.StringVar(&s.v.Cache, "cache", "", "nginx: cache a pass for one second per address in this `FOLDER`, for a listener that only looks up")
}

// installEnv returns what an install uses of this host, whose unit has the default config.
func installEnv(e *command.Env, ask nodeaddr.Ask, configFile string) *install.Env {
	reload := func(ctx context.Context) error {
		return ask(ctx, func(ctx context.Context, node *client.Client) error { return node.Reload(ctx) })
	}
	host := install.Here(reload)
	host.Systemd = host.Systemd && configFile == command.DefaultConfig
	return &install.Env{Env: e, Host: host, Check: node.Check, Status: func(ctx context.Context) (admin.Stats, error) {
		return nodeaddr.Get(ctx, ask, func(ctx context.Context, node *client.Client) (admin.Stats, error) { return node.Status(ctx) })
	}}
}

// refuseCached returns an error where nginx's cache would keep blocks from being in force.
func refuseCached(nginx string) error {
	found, _ := setup.FindLogs(setup.Place{Proxy: "nginx", File: nginx}, command.ProxyFiles{}) // what cannot be read says nothing
	if at := found.NamesCached(); len(at) > 0 {
		return fmt.Errorf("%s: with this open_file_cache a block or a lift is not in force for as long as open_file_cache_valid says (60s): "+
			"take it out or put `open_file_cache off;` into the server blocks, or agree with --with-open-file-cache", strings.Join(at, ", "))
	}
	return nil
}

func listSnippets(e *command.Env) error {
	t := &output.Table{}
	t.Texts(output.Bold, "snippet")
	t.Texts(output.Plain, "for")
	for _, name := range snippets.Names() {
		t.Row(name, snippets.About(name))
	}
	t.Print(e.Stdout, e.Colour)
	return nil
}

// writeSnippet prints a snippet, or one part of it as it is.
func writeSnippet(e *command.Env, name, file string, v snippets.Values) error {
	text, err := snippets.Text(name, file, v)
	if err != nil {
		return command.Usage(err)
	}
	_, err = io.WriteString(e.Stdout, text)
	return err
}

// peersCount sets where HAProxy is taught, and what counts its requests: its tables, its log or
// something else.
func peersCount(v *snippets.Values, c *config.Config) {
	if len(c.HAProxy.Peers) > 0 {
		v.Peers, v.PeersCount, v.Unlogged = c.HAProxy.Peers[0].Listen.String(), c.HAProxy.Counts(), true
	}
	for i := range c.Sensors.AccessLog {
		if l := &c.Sensors.AccessLog[i]; l.Format == "haproxy" {
			if v.Log, v.Unlogged = l.File, false; l.File == "" {
				v.Log = l.Listen.Network + ":" + l.Listen.Address
			}
			return
		}
	}
}

// asksSPOE sets where HAProxy asks, and for which headers.
func asksSPOE(v *snippets.Values, c *config.Config) {
	for _, one := range c.HAProxy.SPOE[:min(1, len(c.HAProxy.SPOE))] {
		v.Spoe = one.Listen.String()
	}
	for i := range c.Rules.Meters {
		for _, a := range c.Rules.Meters[i].Attributes {
			if a.Field == edgeguard.FieldHeader && !slices.Contains(v.Headers, a.Header) {
				v.Headers = append(v.Headers, a.Header)
			}
		}
	}
}

// valuesFromConfig sets what no flag gave from the config. The proxy asks at a unix socket,
// which strangers cannot open, if it can do that.
func valuesFromConfig(v *snippets.Values, e *command.Env, proxy, configFile string) {
	c, err := command.LoadConfig(configFile)
	if err != nil {
		fmt.Fprintf(e.Stderr, "addresses and folders are not read from the config: %v\n", err)
		return
	}
	v.State, v.Rules = c.State, c.Rules
	peersCount(v, c)
	if c.Enforce.Names != nil {
		v.Names = c.Enforce.Names.Folder
	}
	asksSPOE(v, c)
	for _, l := range c.Listen.Envoy[:min(1, len(c.Listen.Envoy))] {
		v.Envoy, v.Group = l.Address.String(), l.Group
	}
	asks := slices.Contains([]string{"nginx", "caddy", "traefik", "envoy"}, proxy)
	if v.Auth != "" || !asks {
		return
	}
	for _, l := range c.Listen.Auth {
		switch {
		case l.Address.Network == "unix" && (proxy == "nginx" || proxy == "caddy"):
			v.Auth, v.Group = l.Address.String(), l.Group
			return
		case l.Address.Network == "tcp" && v.Auth == "":
			v.Auth = l.Address.Address
		}
	}
	if v.Auth == "" {
		fmt.Fprintf(e.Stderr, "listen.auth has no TCP address, which %s needs: add 127.0.0.1:9180\n", proxy)
	}
}
