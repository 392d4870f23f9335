package tools

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/sensor/accesslog"
)

// part is one of the files that `edgeguard snippets` prints for HAProxy, with the folder
// and the address of the site.
func (s *site) part(snippet, name string, v snippets.Values) (string, error) {
	v.Listen = "80"
	text, err := snippets.Text(snippet, name, v)
	return strings.NewReplacer(
		"bind :80\n", "bind "+s.address+"\n"+clientLine,
		"    default_backend", "    "+answerLine+"default_backend",
		"/var/lib/haproxy/peers.sock user haproxy group haproxy", s.path("haproxy.sock"),
		// On a busy machine edgeguard may miss the deadlines, and what was then measured
		// would be something else.
		" 5ms", " 10s", " 100ms", " 10s",
	).Replace(text), err
}

const (
	clientLine = "    http-request set-src req.hdr(X-Forwarded-For)\n    "
	answerLine = "http-request return status 200 content-type text/plain string hello\n    "
)

// haproxy starts HAProxy with one thread, that takes its clients' addresses from a proxy's
// header and answers by itself. Lines of its frontend come before the answer; whole is
// instead of a frontend.
func (s *site) haproxy(global, lines, whole string) error {
	if whole == "" {
		whole = "frontend site\n    bind " + s.address + "\n" + clientLine + lines + "\n    " + answerLine + "\n"
	}
	file, err := s.write("haproxy.cfg", "global\n    nbthread 1\n    maxconn 1000\n    stats socket "+s.path("stats.sock")+" mode 600 level admin\n"+global+
		"defaults\n    mode http\n    timeout connect 10s\n    timeout client 60s\n    timeout server 60s\n"+whole)
	if err != nil {
		return err
	}
	return s.serve("haproxy", "-db", "-f", file)
}

func haproxyAlone(_ context.Context, s *site) error { return s.haproxy("", "", "") }

// stickTable counts by two counters: the window before is taken as spread evenly.
func stickTable(_ context.Context, s *site) error {
	seconds := int(s.window / time.Second)
	return s.haproxy("", fmt.Sprintf(`stick-table type ipv6 size 100k expire %ds store http_req_rate(%ds)
    http-request track-sc0 src
    http-request deny deny_status 429 if { sc_http_req_rate(0) gt %d }`, 3*seconds, seconds, s.limit), "")
}

func peers(ctx context.Context, s *site) error {
	if err := s.startNode(ctx, peersNode()); err != nil {
		return err
	}
	return s.servePeers(ctx)
}

func peersNode() string {
	return nodeAlone + fmt.Sprintf("\nhaproxy: {peers: [{listen: \"unix:$DIR/peers.sock\", user: %q}]}", strconv.Itoa(os.Getuid()))
}

// haproxyRing teaches HAProxy who is blocked by its peers protocol, and counts by its log.
func haproxyRing(ctx context.Context, s *site) error {
	err := s.startNode(ctx, strings.Replace(peersNode(), "}]}", ", count: false}]}", 1)+`
sensors: {accesslog: [{listen: "unix:$DIR/log.sock", format: haproxy}]}`)
	if err != nil {
		return err
	}
	text, err := s.part("haproxy-peers", "proxy", snippets.Values{Peers: "unix:" + s.path("peers.sock"), Log: "unix:" + s.path("log.sock")})
	if err != nil {
		return err
	}
	if err := s.haproxy("", "", text); err != nil {
		return err
	}
	return s.until(ctx, "has HAProxy connected", func() bool {
		status, err := s.node.Status(ctx)
		return err == nil && len(status.HAProxies) == 1 && len(status.HAProxies[0].HAProxies) == 1
	})
}

// servePeers starts HAProxy and waits until it and edgeguard know each other: it dials once,
// and then waits for seconds.
func (s *site) servePeers(ctx context.Context) error {
	c, err := config.Parse("edgeguard.yaml", []byte(s.nodeConf(peersNode())))
	if err != nil {
		return err
	}
	text, err := s.part("haproxy-peers", "proxy", snippets.Values{Rules: c.Rules, Peers: "unix:" + s.path("peers.sock"), PeersCount: true})
	if err != nil {
		return err
	}
	if err := s.haproxy("", "", text); err != nil {
		return err
	}
	return s.until(ctx, "has edgeguard know its tables", func() bool {
		status, err := s.node.Status(ctx)
		return err == nil && len(status.HAProxies) == 1 && len(status.HAProxies[0].HAProxies) == 1 && status.HAProxies[0].HAProxies[0].Learned
	})
}

func spoe(ctx context.Context, s *site) error {
	err := s.startNode(ctx, nodeAlone+fmt.Sprintf("\nhaproxy: {spoe: [{listen: \"unix:$DIR/spoe.sock\", user: %q}]}", strconv.Itoa(os.Getuid())))
	if err != nil {
		return err
	}
	v := snippets.Values{Spoe: "unix:" + s.path("spoe.sock"), SpoeFile: s.path("spoe.conf"), Closed: true}
	asked, err := s.part("haproxy-spoe", "spoe", v)
	if err != nil {
		return err
	}
	if _, err := s.write("spoe.conf", asked); err != nil {
		return err
	}
	text, err := s.part("haproxy-spoe", "proxy", v)
	if err != nil {
		return err
	}
	return s.haproxy("", "", text)
}

// queueProblem says why a log by a unix socket is not to be measured here; nil if it is.
func queueProblem() error {
	const file = "/proc/sys/net/unix/max_dgram_qlen"
	n, err := leading(os.ReadFile(file))
	if err == nil && n < accesslog.LeastQueue {
		err = fmt.Errorf("most lines would be lost: %s is %d; echo %d > %s, as the packages do", file, n, accesslog.LeastQueue, file)
	}
	return err
}

func haproxyLog(ctx context.Context, s *site) error {
	if err := queueProblem(); err != nil {
		return err
	}
	err := s.startNode(ctx, nodeAlone+`
sensors: {accesslog: [{listen: "unixgram:$DIR/log.sock", format: haproxy}]}
enforce: {haproxy: {socket: $DIR/stats.sock, map: $DIR/haproxy.map}}`)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "writes haproxy.map", func() bool { _, err := os.Stat(s.path("haproxy.map")); return err == nil }); err != nil {
		return err
	}
	refuse, err := s.part("haproxy-map", "proxy", snippets.Values{State: s.dir})
	if err != nil {
		return err
	}
	return s.haproxy("    log unix@"+s.path("log.sock")+" len 65535 local0 info\n", "log global\n    option httplog\n"+refuse, "")
}
