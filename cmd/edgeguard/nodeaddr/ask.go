package nodeaddr

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/config"
)

// Ask calls f with a client for the node.
type Ask func(ctx context.Context, f func(context.Context, *client.Client) error) error

// Flags declares on c the flags that say where the node is, and returns what asks it.
func Flags(c *cobra.Command) Ask {
	var r reach
	f := c.Flags()
	f.StringVar(&r.configFile, "config", "", "config `FILE` with the node's admin address (default "+command.DefaultConfig+" if it is there, else this user's node without a config)")
	f.StringVar(&r.address, "admin", "", "admin `ADDRESS` of the node, host:port or unix:/path, instead of the config's")
	f.StringVar(&r.tokenFile, "token-file", "", "`FILE` with the admin token instead of the config's")
	return r.ask
}

// Asks makes c a command that asks a node: it declares the flags that say where the node
// is, and c runs f with a client for it and with its arguments. It returns c.
func Asks(c *cobra.Command, f func(ctx context.Context, node *client.Client, args []string) error) *cobra.Command {
	ask := Flags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return ask(c.Context(), func(ctx context.Context, node *client.Client) error { return f(ctx, node, args) })
	}
	return c
}

// Given asks the node that the flags of c name, where c may lack some of them: a shell
// completes commands that ask no node.
func Given(c *cobra.Command) Ask {
	var r reach
	for name, value := range map[string]*string{"config": &r.configFile, "admin": &r.address, "token-file": &r.tokenFile} {
		*value, _ = c.Flags().GetString(name) // "" for a command without the flag
	}
	return r.ask
}

// reach are the flags that say where the node is.
type reach struct {
	configFile, address, tokenFile string
}

// ask calls f with a client for the node.
func (r *reach) ask(ctx context.Context, f func(context.Context, *client.Client) error) error {
	c, flaws, err := r.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return explain(f(ctx, c), flaws)
}

// client returns a client for the node: at the given address, or else at the
// config's, a unix socket first because it may change things. Without a config it is
// the node that runs without one. The flaws are the errors of a config that says at least
// where the node is.
func (r *reach) client() (c *client.Client, flaws *config.Errors, err error) {
	at := client.Config{Address: r.address, TokenFile: r.tokenFile}
	name := ""
	if at.Address == "" {
		name, err = command.FindConfig(r.configFile)
		if err == nil && name == "" {
			at.Address, err = Here().One()
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
	listen, flaws, err := read(name)
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

// Get asks the node for one answer.
func Get[T any](ctx context.Context, ask Ask, f func(context.Context, *client.Client) (T, error)) (answer T, err error) {
	err = ask(ctx, func(ctx context.Context, node *client.Client) (err error) {
		answer, err = f(ctx, node)
		return err
	})
	return answer, err
}
