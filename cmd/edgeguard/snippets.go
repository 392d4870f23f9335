package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgeguard/sensor/httpauth/snippets"
)

func snippetsCommand(e *env) *cobra.Command {
	var v snippets.Values
	var configFile string
	c := &cobra.Command{
		Use:   "snippets " + strings.Join(snippets.Names(), "|"),
		Short: "Print the proxy configuration that uses edgeguard",
		Long: `snippets prints the configuration of a proxy that asks edgeguard before each
request, or sends edgeguard its log. The tests of edgeguard run the same text.`,
		Example: `  edgeguard snippets nginx > /etc/nginx/conf.d/site.conf
  edgeguard snippets nginx --auth unix:/run/edgeguard/auth.sock --backend 127.0.0.1:3000
  edgeguard snippets caddy`,
		ValidArgs: snippets.Names(),
		Args:      oneArgument("one of " + strings.Join(snippets.Names(), ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(snippets.Names(), args[0]) {
				return usageError{fmt.Errorf("snippets: unknown proxy %q: use one of %s", args[0], strings.Join(snippets.Names(), ", "))}
			}
			if v.Auth == "" {
				v.Auth = authFor(e, args[0], configFile)
			}
			return snippets.Write(e.stdout, args[0], v)
		},
	}
	f := c.Flags()
	f.StringVar(&v.Auth, "auth", "", "forward auth `ADDRESS` or unix:/path (default from the config, preferring a unix socket where the proxy supports it; else 127.0.0.1:9180)")
	f.StringVar(&configFile, "config", "", "config `FILE` with the forward auth address (default "+defaultConfig+" if it is there)")
	f.StringVar(&v.Listen, "listen", "", "`PORT` of the site (default 80)")
	f.StringVar(&v.Backend, "backend", "", "backend of the site, `HOST:PORT` (default 127.0.0.1:8080)")
	f.BoolVar(&v.Closed, "closed", false, "refuse requests while edgeguard does not answer (by default they pass)")
	f.StringVar(&v.Cache, "cache", "", "nginx: cache a pass for one second per address in this `FOLDER`, for a listener that only looks up")
	return c
}

// authFor returns where the proxy asks by the config: at a unix socket, which
// strangers cannot open, if the proxy can do that. Empty is the default's.
func authFor(e *env, proxy, configFile string) string {
	c, err := loadConfig(configFile)
	if err != nil {
		fmt.Fprintf(e.stderr, "the forward auth address is not read from the config: %v\n", err)
		return ""
	}
	port := ""
	for _, l := range c.Listen.Auth {
		switch {
		case l.Address.Network == "unix" && (proxy == "nginx" || proxy == "caddy"):
			return l.Address.String()
		case l.Address.Network == "tcp" && port == "":
			port = l.Address.Address
		}
	}
	if port == "" && proxy != "haproxy" {
		fmt.Fprintf(e.stderr, "listen.auth has no TCP address, which %s needs: add 127.0.0.1:9180\n", proxy)
	}
	return port
}
