package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// fake is a node that answers so.
type fake struct {
	links []string
	ended int
	err   error
}

func (f *fake) Address() string { return "unix:/run/edgeguard/admin.sock" }

func (f *fake) LoginLinks(context.Context) (access.LoginLinks, error) {
	return access.LoginLinks{Links: f.links, Seconds: 120}, f.err
}

func (f *fake) EndSessions(context.Context) (access.SessionsEnded, error) {
	return access.SessionsEnded{Sessions: f.ended}, f.err
}

func TestPrintLink(t *testing.T) {
	const opens = "\n\nopen it within 120 seconds: it logs one browser in as an operator, once\nnode: unix:/run/edgeguard/admin.sock\n"
	for _, c := range []struct {
		name      string
		node      fake
		want, err string
	}{
		{"on loopback", fake{links: []string{"http://127.0.0.1:9190/login?link=a", "http://10.0.0.7:9190/login?link=a"}},
			"http://127.0.0.1:9190/login?link=a" + opens + "from another host, first: ssh -L 9190:127.0.0.1:9190 HOST\n", ""},
		{"on IPv6 loopback", fake{links: []string{"http://[::1]:9190/login?link=a"}}, "http://[::1]:9190/login?link=a" + opens + "from another host, first: ssh -L 9190:[::1]:9190 HOST\n", ""},
		{"on another address", fake{links: []string{"http://10.0.0.7:9190/login?link=a"}}, "http://10.0.0.7:9190/login?link=a" + opens, ""},
		{"what acts on a terminal", fake{links: []string{"http://\x1b[2J/"}}, "http://?[2J/" + opens, ""},
		{"nowhere", fake{}, "", "sent no link"},
		{"over TCP", fake{err: &call.Problem{Status: 403}}, "", "unix:/run/edgeguard/admin.sock"},
		{"of another user's node", fake{err: &call.Problem{Status: 403}}, "", "run this as that user"},
		{"cut off", fake{err: errors.New("cut off")}, "", "cut off"},
	} {
		var out bytes.Buffer
		err := printLoginLink(t.Context(), &out, &c.node)
		if out.String() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v\n%swant:\n%s", c.name, err, &out, c.want)
		}
	}
}

func TestEndSessions(t *testing.T) {
	for want, ended := range map[string]int{"1 session ended\n": 1, "1,200 sessions ended\n": 1200} {
		var out bytes.Buffer
		if err := endSessions(t.Context(), &out, &fake{ended: ended}); err != nil || out.String() != want {
			t.Errorf("%v: %q", err, &out)
		}
	}
}
