package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/blocklist"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/nodeaddr"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/internal/safetext"
	"edgeguard/internal/sleep"
)

// Who is blocked for a check, and who is not. Both are this host.
var (
	checkedAddr = netip.MustParseAddr("127.0.0.2")
	otherAddr   = netip.MustParseAddr("127.0.0.1")
)

const (
	// checkPatience is how long a list may take to come into force, sitePatience a site that was
	// just reloaded, and answerTimeout one answer.
	checkPatience = 30 * time.Second
	sitePatience  = 5 * time.Second
	answerTimeout = 3 * time.Second
	// checkEvery is how long a check waits between two requests.
	checkEvery = 200 * time.Millisecond
	// checkedFor is how long the block lasts if nobody lifts it, and lastFor how long it still
	// does where the answer says when to come again.
	checkedFor, lastFor = "5m", 3 * time.Second
)

// answer is what a site answers: a status, or that there is no answer.
type answer struct {
	status int
	retry  string // Retry-After
	err    error  // of a request without an answer
}

// String says it in words.
func (a answer) String() string {
	switch {
	case a.err != nil:
		return "no answer (" + a.err.Error() + ")"
	case a.retry != "":
		return fmt.Sprintf("%d %s, Retry-After: %s", a.status, http.StatusText(a.status), a.retry)
	}
	return fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
}

// refusalCheck shows on a running node that a proxy refuses who is blocked.
type refusalCheck struct {
	out   io.Writer
	name  string // of the snippet
	drops bool   // who is refused has no answer
	node  blocker
	// ask has the site asked from an address.
	ask func(ctx context.Context, from netip.Addr) answer
}

// blocker is the node.
type blocker interface {
	Status(ctx context.Context) (admin.Stats, error)
	Explain(ctx context.Context, addr netip.Addr) (admin.Explanation, error)
	Block(ctx context.Context, r admin.BlockRequest) (admin.Block, error)
	Extend(ctx context.Context, prefix string, r admin.ExtendRequest) (admin.Block, error)
	Unblock(ctx context.Context, prefix, reason string) (admin.Block, error)
}

// checkSnippet is `edgeguard snippets NAME --check`.
func checkSnippet(ctx context.Context, e *command.Env, ask nodeaddr.Ask, name, site string) error {
	if snippets.About(name) == "" {
		return writeSnippet(e, name, "", snippets.Values{}) // the error that names the others
	}
	drops, ok := snippets.Refuses(name)
	if !ok {
		return command.Usage(fmt.Errorf("snippets: %s has no --check: run the commands of `edgeguard snippets %[1]s --file check`", name))
	}
	at, err := url.Parse(site)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return command.Usage(fmt.Errorf("snippets: --url %q: use a URL such as http://127.0.0.1/", site))
	}
	return ask(ctx, func(ctx context.Context, node *client.Client) error {
		c := refusalCheck{out: e.Stdout, name: name, drops: drops, node: node, ask: func(ctx context.Context, from netip.Addr) answer { return askSite(ctx, at, from) }}
		return c.run(ctx)
	})
}

// run does it. Whatever happens, the block is lifted.
func (c *refusalCheck) run(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	before, _, ok := c.until(ctx, sitePatience, func(a answer) bool { return a.err == nil })
	if !ok {
		return fmt.Errorf("the site has %s: name it with --url", before)
	}
	if before.status == http.StatusTooManyRequests {
		return fmt.Errorf("the site has %s for who is not blocked, so a refusal could not be told: name another page with --url", before)
	}
	c.say("%s asks the site, and has: %s", checkedAddr, before)
	c.ask(ctx, otherAddr)
	if _, err := c.node.Block(ctx, admin.BlockRequest{Prefix: checkedAddr.String(), For: checkedFor, Force: true, Reason: c.reason()}); err != nil {
		return err
	}
	defer func() {
		_, _ = c.node.Unblock(context.WithoutCancel(ctx), checkedAddr.String(), c.reason()) // it may have ended
	}()
	refused := func(a answer) bool {
		if c.drops {
			return a.err != nil
		}
		return a.status != before.status && (a.status == http.StatusTooManyRequests || a.status == http.StatusForbidden)
	}
	now, took, ok := c.until(ctx, checkPatience, func(a answer) bool {
		c.ask(ctx, otherAddr) // as often, so that a limit of the site's own refuses both
		return refused(a)
	})
	if !ok {
		return fmt.Errorf("%s is blocked, and %v later still has %s: %s does not refuse it. Is what `edgeguard snippets %[4]s` prints in force? Also try edgeguard doctor", checkedAddr, took, now, c.name)
	}
	c.say("%s is blocked, and %v later has: %s", checkedAddr, took, now)
	other := c.ask(ctx, otherAddr)
	if refused(other) {
		return fmt.Errorf("%s, which is not blocked, is refused too: %s: by a limit of the site itself? Name a page without one with --url", otherAddr, other)
	}
	c.say("%s is not, and has: %s", otherAddr, other)
	return c.release(ctx, now, refused)
}

// ready refuses to begin where nothing would be refused, or somebody else's block be lifted.
func (c *refusalCheck) ready(ctx context.Context) error {
	s, err := c.node.Status(ctx)
	if err != nil {
		return err
	}
	if s.Monitor {
		return errors.New("in mode: monitor nothing is refused: write mode: enforce into the config, and run edgeguard reload")
	}
	x, err := c.node.Explain(ctx, checkedAddr)
	switch {
	case err != nil:
		return err
	case x.Block != nil:
		return fmt.Errorf("%s is blocked already: edgeguard blocks remove %[1]s", checkedAddr)
	case x.Standing == blocklist.Allowed.String():
		return fmt.Errorf("%s is never refused here, by the %s", checkedAddr, x.Because)
	}
	return nil
}

// release ends the block, and waits until the address passes again: where the answer says when
// that is, exactly then. What a list has a proxy say is the same for every block.
func (c *refusalCheck) release(ctx context.Context, now answer, refused func(answer) bool) error {
	how, says := "is lifted", false
	if now.retry != "" {
		how = "is lifted or over"
		if _, err := c.node.Extend(ctx, checkedAddr.String(), admin.ExtendRequest{For: lastFor.String(), Force: true}); err != nil {
			return err
		}
		now, _, _ = c.until(ctx, sitePatience, refused)
		seconds, err := strconv.Atoi(now.retry)
		if says = err == nil && seconds <= int(lastFor/time.Second)+1; says {
			c.say("%s is blocked for %s more, and has: %s", checkedAddr, lastFor, now)
			sleep.For(ctx, time.Duration(seconds)*time.Second)
			how = fmt.Sprintf("comes again after %d s", seconds)
		}
	}
	if !says {
		if _, err := c.node.Unblock(ctx, checkedAddr.String(), c.reason()); err != nil && how == "is lifted" {
			return err
		}
	}
	now, took, ok := c.until(ctx, checkPatience, func(a answer) bool { return a.err == nil && !refused(a) })
	if !ok {
		return fmt.Errorf("%s %s, and %v later still has %s", checkedAddr, how, took, now)
	}
	c.say("%s %s, and %v later has: %s", checkedAddr, how, took, now)
	c.say("%s refuses who is blocked, and nobody else.", c.name)
	return nil
}

// until asks from the address until an answer is as it should be.
func (c *refusalCheck) until(ctx context.Context, patience time.Duration, good func(answer) bool) (a answer, took time.Duration, ok bool) {
	for begun := time.Now(); ; {
		a = c.ask(ctx, checkedAddr)
		took = time.Since(begun).Round(100 * time.Millisecond)
		if ok = good(a) && ctx.Err() == nil; ok || took >= patience || !sleep.For(ctx, checkEvery) {
			return a, took, ok
		}
	}
}

func (c *refusalCheck) reason() string { return "snippets " + c.name + " --check" }

func (c *refusalCheck) say(format string, values ...any) { fmt.Fprintf(c.out, format+"\n", values...) }

// askSite asks a site from an address of this host, over a connection of its own. A name is
// asked for at this host, whatever it resolves to. The
// certificate is not looked at: nothing that is secret is sent, and only the status is read.
func askSite(ctx context.Context, at *url.URL, from netip.Addr) answer {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: at.Hostname()},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			if _, err := netip.ParseAddr(host); err != nil {
				host = otherAddr.String()
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
		}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return answer{err: err}
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{err: err}
	}
	_ = response.Body.Close() // its body says nothing
	return answer{status: response.StatusCode, retry: safetext.Cut(safetext.Strip(response.Header.Get("Retry-After")), 40)}
}
