package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"edgeguard/cmd/edgeguard/snippets"
)

// haproxyConf is a HAProxy with one thread that answers by itself, and asks edgeguard
// if the arm does, with what `edgeguard snippets haproxy-spoe` prints. spoe is the
// file of what it asks; empty for an arm that does not.
func haproxyConf(a arm, dir, listen, socket string) (conf, spoe string) {
	const answer = "    http-request return status 200 content-type text/plain string hello\n"
	client := "    http-request set-src req.hdr(X-Client)\n"
	// On a busy machine edgeguard may miss the snippet's deadlines, and what was then
	// measured would be something else.
	patient := strings.NewReplacer(" 5ms", " 10s", " 100ms", " 10s")
	conf = "global\n    nbthread 1\n    maxconn 1000\ndefaults\n    mode http\n    timeout connect 10s\n    timeout client 60s\n    timeout server 60s\n"
	if !a.spoe {
		return conf + "frontend site\n    bind " + listen + "\n" + client + answer, ""
	}
	v := snippets.Values{Listen: "80", Spoe: "unix:" + socket, SpoeFile: spoeFile(dir), Closed: true}
	part := func(name string) string {
		text, err := snippets.Text("haproxy-spoe", name, v)
		if err != nil {
			panic(err) // both parts are ours
		}
		return patient.Replace(text)
	}
	text := strings.Replace(part("proxy"), "    bind :80\n", "    bind "+listen+"\n"+client, 1)
	return conf + strings.Replace(text, "    default_backend", answer+"    default_backend", 1), part("spoe")
}

func spoeFile(dir string) string { return filepath.Join(dir, "spoe.conf") }

// startHAProxy starts the arm's HAProxy.
func (s *site) startHAProxy(ctx context.Context, dir, socket string) error {
	conf, spoe := haproxyConf(s.arm, dir, s.address, strings.TrimPrefix(socket, "unix:"))
	file := filepath.Join(dir, "haproxy.cfg")
	for name, text := range map[string]string{file: conf, spoeFile(dir): spoe} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("haproxy"); err != nil {
		return fmt.Errorf("haproxy is not installed: apt-get install haproxy")
	}
	return s.spawn(ctx, "haproxy", "-db", "-q", "-f", file)
}
