package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"edgeguard/config"
	"edgeguard/internal/program"
)

// patience bounds waits for what must come. A state of ten million keys takes a
// while to be written and read.
const patience = 3 * time.Minute

// node is a running edgeguard.
type node struct {
	dir     string
	process *exec.Cmd
	http    *http.Client // over its unix socket: as an operator
}

// startNode writes a state and starts the program on it.
func startNode(ctx context.Context, o *Options) (*node, error) {
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return nil, err
	}
	n := &node{dir: dir, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "admin.sock"))
	}}}}
	if err := n.launch(ctx, o); err != nil {
		n.stop()
		return nil, err
	}
	return n, nil
}

func (n *node) launch(ctx context.Context, o *Options) error {
	text, file := o.conf(n.dir), filepath.Join(n.dir, "edgeguard.yaml")
	c, err := config.Parse(file, []byte(text))
	if err != nil {
		return err
	}
	state := filepath.Join(n.dir, "state")
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Mkdir(state, 0o700)); err != nil {
		return err
	}
	fmt.Fprintf(o.Notes, "writing a state of %d keys and %d blocks\n", o.Keys, o.Blocks)
	if err := o.writeState(filepath.Join(state, "node.state"), c, time.Now()); err != nil {
		return err
	}
	said, err := os.Create(filepath.Join(n.dir, "said"))
	if err != nil {
		return err
	}
	defer said.Close()
	n.process = exec.CommandContext(ctx, o.Program, "serve", "--config", file)
	n.process.Stdout, n.process.Stderr = said, said
	if err := n.process.Start(); err != nil {
		n.process = nil
		return err
	}
	fmt.Fprintln(o.Notes, "starting the node")
	return until(ctx, func() error {
		_, err := n.get(ctx, "/readyz")
		if err != nil {
			text, _ := os.ReadFile(said.Name()) // without it there is less to go by
			return fmt.Errorf("the node is not ready: %w\n%s", err, text)
		}
		return nil
	})
}

// until waits for what must come.
func until(ctx context.Context, holds func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := holds()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return errors.Join(err, ctx.Err())
		}
	}
}

func (n *node) stop() {
	if n.process != nil {
		_ = n.process.Process.Signal(syscall.SIGKILL)
		_ = n.process.Wait()
	}
	n.http.CloseIdleConnections()
	_ = os.RemoveAll(n.dir)
}

// get asks for a page or an answer and reads it to its end.
func (n *node) get(ctx context.Context, path string) (body []byte, err error) {
	return n.send(ctx, "GET", path, "")
}

func (n *node) send(ctx context.Context, method, path, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := n.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %d %.200s", method, path, answer.StatusCode, text)
	}
	return text, err
}

// memory returns the node's resident memory in bytes.
func (n *node) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// processor returns the processor time that the node has taken so far.
func (n *node) processor() (time.Duration, error) { return program.CPU(n.process.Process.Pid) }

// goroutines returns how many the node has.
func (n *node) goroutines(ctx context.Context) (int, error) {
	text, err := n.get(ctx, "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(first, "goroutine profile: total ")))
}
