package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"edgeguard/admin/client"
)

// nodeAlone is a node that no proxy asks by HTTP.
const nodeAlone = `listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}`

// nodeConf is edgeguard's config with an arm's lines, in which $DIR is the site's folder. The
// guard is 1, so that the limit is that of all others.
func (s *site) nodeConf(lines string) string {
	return strings.ReplaceAll(fmt.Sprintf("%s\nstate: $DIR/state\nmemory: 64MB\nmax_blocks: 200000\nrules:\n  - {name: site, threshold: %d, guard: 1, window: %dm, block_for: 1h}\n",
		lines, s.limit, int(s.window/time.Minute)), "$DIR", s.dir)
}

// startNode starts edgeguard and waits until it is ready.
func (s *site) startNode(ctx context.Context, lines string) (err error) {
	for name, text := range map[string]string{"edgeguard.yaml": s.nodeConf(lines), "access.log": ""} {
		if _, err := s.write(name, text); err != nil {
			return err
		}
	}
	if s.node, err = client.New(client.Config{Address: "unix:" + s.path("admin.sock")}); err != nil {
		return err
	}
	if err := s.beside(s.edgeguard, "serve", "--config", s.path("edgeguard.yaml")); err != nil {
		return err
	}
	return s.until(ctx, "is ready", func() bool {
		status, err := s.node.Status(ctx)
		return err == nil && status.Ready
	})
}

// logged tells how many lines of the log edgeguard has counted, or knows to be lost.
func logged(ctx context.Context, s *site) (sum uint64, err error) {
	status, err := s.node.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, log := range status.Logs {
		sum += log.Parsed + max(log.Dropped, log.Lost)
	}
	return sum, nil
}

// received tells how many requests HAProxy's tables have told edgeguard of.
func received(ctx context.Context, s *site) (sum uint64, err error) {
	status, err := s.node.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, one := range status.HAProxies {
		sum += one.Counted
	}
	return sum, nil
}
