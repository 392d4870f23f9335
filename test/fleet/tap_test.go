package fleet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// tap is a proxy that reads what a node sends to Redis, command by command: it
// can change a command, and record it to send it again.
type tap struct {
	addr string
	// each sees every command before it is passed on; it may change it.
	each func(command [][]byte)
	// back passes answers on.
	back func(to io.Writer, from io.Reader)

	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex // guards the fields below
	open     map[net.Conn]struct{}
	closed   bool
}

// newTap passes commands to target until the test ends, and answers unchanged.
func newTap(t testing.TB, target string, each func(command [][]byte)) *tap {
	t.Helper()
	return newTapBothWays(t, target, each, passOn)
}

func newTapBothWays(t testing.TB, target string, each func(command [][]byte), back func(to io.Writer, from io.Reader)) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: l.Addr().String(), each: each, back: back, listener: l, open: map[net.Conn]struct{}{}}
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.connect(client, target) })
		}
	})
	t.Cleanup(p.end)
	return p
}

func passOn(to io.Writer, from io.Reader) { _, _ = io.Copy(to, from) }

func (p *tap) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

// hold remembers connections to be closed at the end; false if that is now.
func (p *tap) hold(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = struct{}{}
	}
	return !p.closed
}

func (p *tap) connect(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.hold(client, server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		p.back(client, server)
		_ = client.Close()
	})
	commands, out := bufio.NewReader(client), bufio.NewWriter(server)
	for {
		command, err := readCommand(commands)
		if err != nil {
			break
		}
		p.each(command)
		writeCommand(out, command)
		if commands.Buffered() == 0 && out.Flush() != nil {
			break
		}
	}
	_ = server.Close()
	back.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// readCommand reads an array of strings, the form in which clients speak.
func readCommand(r *bufio.Reader) ([][]byte, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	command := make([][]byte, n)
	for i := range command {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		command[i] = word[:size]
	}
	return command, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q begins no %q", line, kind)
	}
	return strconv.Atoi(string(bytes.TrimSpace(line[1:])))
}

func writeCommand(w *bufio.Writer, command [][]byte) {
	fmt.Fprintf(w, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(w, "$%d\r\n%s\r\n", len(word), word)
	}
}

// calls reports whether a command calls a function of this name.
func calls(command [][]byte, function string) bool {
	return len(command) > 1 && bytes.EqualFold(command[0][:min(5, len(command[0]))], []byte("fcall")) && string(command[1]) == function
}
