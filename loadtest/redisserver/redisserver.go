// Package redisserver starts a real redis-server for a measurement, which has no
// testing.TB as package redistest needs one, and says what it spent.
package redisserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgeguard/internal/program"
)

// patience bounds each wait for the server.
const patience = 30 * time.Second

// Binary names the environment variable that chooses another server, a Valkey say.
const Binary = "EDGEGUARD_TEST_REDIS"

// ErrAbsent is the error of a machine without a redis-server.
var ErrAbsent = errors.New("redis-server is not installed: apt-get install redis-server, or name one in " + Binary)

// Server is a redis-server on loopback that keeps nothing on disk. Its methods are
// safe for concurrent use.
type Server struct {
	// Addr is host:port.
	Addr string

	process *program.Child
	stop    func() // does something once
}

// Path is where the server's program is; the error says how to get one.
func Path() (string, error) {
	name := os.Getenv(Binary)
	chosen := name != ""
	if !chosen {
		name = "redis-server"
	}
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case chosen:
		return "", fmt.Errorf("%s: %w", Binary, err)
	}
	return "", ErrAbsent
}

// Start runs a server with its log in a folder, and returns when it answers.
// Port 0 is a free one. args are added to its command line. The server dies with
// this process, if nobody stops it before.
func Start(ctx context.Context, folder string, port int, args ...string) (*Server, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	release := func() {}
	if port == 0 {
		port, release, err = program.Claim()
	} else {
		err = isFree(port)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{stop: sync.OnceFunc(release)}
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--daemonize", "no",
		"--maxmemory", "1gb", "--maxmemory-policy", "noeviction",
	}, args...)
	if s.process, err = program.StartChild(filepath.Join(folder, "redis.log"), path, args...); err != nil {
		s.stop()
		return nil, err
	}
	s.stop = sync.OnceFunc(func() {
		s.process.Stop()
		release()
	})
	context.AfterFunc(ctx, s.stop)
	if err := s.answers(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// isFree says in one line what Redis says in several. A port that was claimed is not asked
// again: a program that is just being started may have the listener that asked before.
func isFree(port int) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	held, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("redis-server: %s is in use: end the program that listens there, or choose another port", address)
	}
	return held.Close()
}

// answers waits until the server takes commands.
func (s *Server) answers(ctx context.Context) error {
	for begun := time.Now(); ; {
		if _, err := s.ask(ctx, "PING"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.process.Ended():
			return fmt.Errorf("redis-server ends at once: %s", program.LastLine([]byte(s.process.Said())))
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("redis-server at %s does not answer: %s", s.Addr, program.LastLine([]byte(s.process.Said())))
		}
	}
}

// Stop ends the server, and returns when it is gone. It may be called again.
func (s *Server) Stop() { s.stop() }

// CPU is what the server says that it has spent on a processor so far.
func (s *Server) CPU(ctx context.Context) (time.Duration, error) {
	info, err := s.Info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	user, err1 := strconv.ParseFloat(info["used_cpu_user"], 64)
	system, err2 := strconv.ParseFloat(info["used_cpu_sys"], 64)
	return time.Duration((user + system) * float64(time.Second)), errors.Join(err1, err2)
}

// Info returns the fields of a section of INFO by name.
func (s *Server) Info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.ask(ctx, "INFO "+section)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// ask sends one command of plain words over a connection of its own, and returns
// the answer, which is one text.
func (s *Server) ask(ctx context.Context, command string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	switch line[:min(1, len(line))] {
	case "+":
		return line[1:], nil
	case "$":
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "", fmt.Errorf("redis-server answered %q to %s", line, command)
		}
		text := make([]byte, size)
		_, err = io.ReadFull(r, text)
		return string(text), err
	}
	return "", fmt.Errorf("redis-server answered %q to %s", line, command)
}
