package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"edgeguard/admin/client"
)

// nodeConf is an operator's, with the rules of [decider].
func nodeConf(a arm, dir, auth string) string {
	listen := ""
	if a.asks() {
		listen = fmt.Sprintf("{address: %q, emit: nothing}", auth) // the log counts
	}
	return fmt.Sprintf(`listen:
  auth: [%s]
  admin: ["unix:%s"]
state: %s
memory: 64MB
sensors:
  accesslog:
    - {file: %s, format: combined}
rules:
  - {name: site, threshold: 60000}
  - {name: login, threshold: 20, match: {method: [POST], path: [/wp-login.php]}}
`, listen, adminSocket(dir), filepath.Join(dir, "state"), logFile(dir))
}

// buildEdgeguard builds the program that operators run.
func buildEdgeguard(ctx context.Context, file string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", file, "edgeguard/cmd/edgeguard").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build edgeguard/cmd/edgeguard: %w\n%s", err, out)
	}
	return nil
}

// startNode starts the program on the site's log, answering at auth if nginx
// asks, and waits until it is ready.
func (s *site) startNode(ctx context.Context, program, dir, auth string) error {
	conf := filepath.Join(dir, "edgeguard.yaml")
	for file, content := range map[string]string{conf: nodeConf(s.arm, dir, auth), logFile(dir): ""} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	said, err := os.Create(filepath.Join(dir, "edgeguard.out"))
	if err != nil {
		return err
	}
	defer said.Close()
	if s.node, err = client.New(client.Config{Address: "unix:" + adminSocket(dir)}); err != nil {
		return err
	}
	if err := s.spawnTo(ctx, said, program, "serve", "--config", conf); err != nil {
		return err
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		status, err := s.node.Status(ctx)
		if err == nil && status.Ready {
			return nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			text, _ := os.ReadFile(said.Name()) // without it there is less to go by, no more
			return fmt.Errorf("edgeguard is not ready: %v %v\n%s", err, status.Conditions, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// counted tells how many lines of the log the node has counted.
func (s *site) counted(ctx context.Context) (uint64, error) {
	status, err := s.node.Status(ctx)
	if err != nil {
		return 0, err
	}
	var sum uint64
	for _, log := range status.Logs {
		sum += log.Parsed
	}
	return sum, nil
}

func logFile(dir string) string { return filepath.Join(dir, "access.log") }

func adminSocket(dir string) string { return filepath.Join(dir, "admin.sock") }
