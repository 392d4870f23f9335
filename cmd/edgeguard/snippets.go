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
	c := &cobra.Command{
		Use:   "snippets " + strings.Join(snippets.Names(), "|"),
		Short: "Print the proxy configuration that puts edgeguard in the path",
		Long: `snippets prints the configuration of a proxy that asks edgeguard before each
request, or feeds it its log. It is what edgeguard's own tests run.`,
		Example: `  edgeguard snippets nginx > /etc/nginx/conf.d/site.conf
  edgeguard snippets nginx --auth unix:/run/edgeguard/auth.sock --backend 127.0.0.1:3000
  edgeguard snippets caddy`,
		ValidArgs: snippets.Names(),
		Args:      oneArgument("one of " + strings.Join(snippets.Names(), ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(snippets.Names(), args[0]) {
				return usageError{fmt.Errorf("snippets: no %q: choose one of %s", args[0], strings.Join(snippets.Names(), ", "))}
			}
			return snippets.Write(e.stdout, args[0], v)
		},
	}
	f := c.Flags()
	f.StringVar(&v.Auth, "auth", "", "where edgeguard's forward auth listens: `ADDRESS` or unix:/path (default 127.0.0.1:9180)")
	f.StringVar(&v.Listen, "listen", "", "`PORT` of the site (default 80)")
	f.StringVar(&v.Backend, "backend", "", "the site's own server, `HOST:PORT` (default 127.0.0.1:8080)")
	f.BoolVar(&v.Closed, "closed", false, "refuse requests while edgeguard does not answer; by default they pass")
	f.StringVar(&v.Cache, "cache", "", "nginx: keep a pass for a second per address in this `FOLDER`, for a listener that looks up only")
	return c
}
