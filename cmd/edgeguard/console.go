package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// consoleCommand returns `edgeguard console`, which logs a browser in.
func consoleCommand(e *command.Env) *cobra.Command {
	end := false
	c := &cobra.Command{
		Use:   "console [flags]",
		Short: "Print a link that logs a browser in to the node's console",
		Long: `console prints a link to the node's web pages. It logs the browser that opens it
in as an operator: it works once, and for two minutes. Who may open the node's
unix socket (listen.admin) may have one; it is not made over TCP. A node without a
config has such a socket for its own user.

With --end-sessions it logs all browsers out.`,
		Example: `  edgeguard console
  edgeguard console --end-sessions      # a laptop was lost`,
		Args: command.NoArguments,
	}
	c.Flags().BoolVar(&end, "end-sessions", false, "log all browsers out instead")
	return nodeaddr.Asks(c, func(ctx context.Context, node *client.Client, _ []string) error {
		if end {
			return endSessions(ctx, e.Stdout, node)
		}
		return printLoginLink(ctx, e.Stdout, node)
	})
}

// linkMaker is the node that the command asks.
type linkMaker interface {
	Address() string
	LoginLinks(context.Context) (access.LoginLinks, error)
	EndSessions(context.Context) (access.SessionsEnded, error)
}

func printLoginLink(ctx context.Context, out io.Writer, node linkMaker) error {
	made, err := node.LoginLinks(ctx)
	var problem *call.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusForbidden {
		return errors.New("a link is made over the unix socket of the operators only: add one to listen.admin (unix:/run/edgeguard/admin.sock), and use --admin unix:/PATH or the node's config. A node without a config has one, which only the user that started it and root can use: run this as that user, or use --admin with the address that the node printed")
	}
	if err != nil {
		return err
	}
	if len(made.Links) == 0 {
		return errors.New("the node sent no link")
	}
	link := safetext.Strip(made.Links[0])
	fmt.Fprintf(out, "%s\n\nopen it within %s: it logs one browser in as an operator, once\nnode: %s\n", link, words.Plural(made.Seconds, "second", "seconds"), node.Address())
	if u, err := url.Parse(link); err == nil && isLocal(u.Hostname()) {
		fmt.Fprintf(out, "from another host, first: ssh -L %s:%s HOST\n", u.Port(), u.Host)
	}
	return nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func endSessions(ctx context.Context, out io.Writer, node linkMaker) error {
	ended, err := node.EndSessions(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", words.Plural(ended.Sessions, "session ended", "sessions ended"))
	return nil
}
