package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/setup"
)

// snippetsCommand returns `edgeguard snippets`.
func snippetsCommand(e *command.Env) *cobra.Command {
	var v snippets.Values
	var configFile, file, nginx string
	var agreed, check bool
	var site string
	c := &cobra.Command{
		Use:   "snippets [NAME]",
		Short: "Print what puts edgeguard beside a proxy or packet filter: its config, units and commands",
		Long: `snippets NAME prints the configuration of a proxy or packet filter that uses
edgeguard. The other files that it requires, the commands that install it, and those
that check that it refuses follow as comments. --file prints one of them alone. The
tests of edgeguard run the same text. Without a name it lists the names.

--check shows that it refuses: it blocks 127.0.0.2 on the running node, asks the site
from there until it is refused, from 127.0.0.1 too, and lifts the block or waits until
the answer says to come again. The site must be on this host, and the mode enforce.`,
		Example: `  edgeguard snippets
  edgeguard snippets nginx --auth unix:/run/edgeguard/auth.sock --backend 127.0.0.1:3000
  edgeguard snippets nginx > /etc/nginx/conf.d/site.conf
  edgeguard snippets nginx --check
  edgeguard snippets caddy --check --url https://example.org/`,
		ValidArgs: snippets.Names(),
		Args:      command.AtMostOneArgument("snippets: expected one of " + strings.Join(snippets.Names(), ", ")),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && check {
				return command.Usage(errors.New("snippets: --check requires the name of a snippet, such as nginx"))
			}
			if len(args) == 0 {
				return listSnippets(e)
			}
			if check {
				return checkSnippet(c.Context(), e, nodeaddr.Given(c), args[0], cmp.Or(site, "http://127.0.0.1:"+cmp.Or(v.Listen, "80")+"/"))
			}
			if args[0] == "nginx-names" && !agreed {
				if err := refuseCached(nginx); err != nil {
					return err
				}
			}
			valuesFromConfig(&v, e, args[0], configFile)
			return writeSnippet(e, args[0], file, v)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "file", "", "print this `PART` alone, such as proxy, config or service")
	f.BoolVar(&check, "check", false, "show on the running node that it refuses")
	c.MarkFlagsMutuallyExclusive("check", "file")
	f.StringVar(&site, "url", "", "--check: the site's `URL`, which is asked for on this host (default http://127.0.0.1/ with the port of --listen)")
	f.StringVar(&v.Auth, "auth", "", "forward auth `ADDRESS` or unix:/path (default from the config, preferring a unix socket where the proxy supports it; else 127.0.0.1:9180)")
	f.StringVar(&configFile, "config", "", "config `FILE` with the forward auth address and the state folder (default /etc/edgeguard/edgeguard.yaml if it is there)")
	f.StringVar(&v.Listen, "listen", "", "`PORT` of the site (default 80)")
	f.StringVar(&v.Backend, "backend", "", "backend of the site, `HOST:PORT` (default 127.0.0.1:8080)")
	f.BoolVar(&v.Closed, "closed", false, "refuse requests while edgeguard does not answer (by default they pass)")
	f.StringVar(&nginx, "nginx", "/etc/nginx/nginx.conf", "nginx-names: nginx's `FILE`, in which an open_file_cache is looked for")
	f.BoolVar(&agreed, "with-open-file-cache", false, "nginx-names: print it although nginx has an open_file_cache")
	f.StringVar(&v.Cache, "cache", "", "nginx: cache a pass for one second per address in this `FOLDER`, for a listener that only looks up")
	return c
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
