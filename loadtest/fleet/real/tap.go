package real

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
)

// Count is what nodes sent to Redis of one kind of command, and what came back.
type Count struct {
	Calls uint64
	// Keys are those of a call that has as many as it likes: of pushes and splits.
	Keys uint64
	// Compared are those of the keys of which only the sum was compared.
	Compared uint64
	In       uint64 // to Redis
	Out      uint64 // from Redis
}

func (c *Count) add(o Count, sign uint64) {
	c.Calls += sign * o.Calls
	c.Keys += sign * o.Keys
	c.Compared += sign * o.Compared
	c.In += sign * o.In
	c.Out += sign * o.Out
}

// ledger counts by kind: the name of a function of ours without what all begin
// with, or of a command. It is safe for concurrent use.
type ledger struct {
	mu     sync.Mutex // guards counts
	counts map[string]Count
}

func (l *ledger) add(kind string, c Count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]Count{}
	}
	sum := l.counts[kind]
	sum.add(c, 1)
	l.counts[kind] = sum
}

// since returns what was counted beyond what was before; nil is nothing.
func (l *ledger) since(before map[string]Count) map[string]Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := map[string]Count{}
	for kind, c := range l.counts {
		c.add(before[kind], ^uint64(0))
		if c != (Count{}) {
			counts[kind] = c
		}
	}
	return counts
}

// tap passes what nodes say to Redis on as it is, and counts it. INFO says how
// many bytes came in all; which of them were pushes only the commands tell.
type tap struct {
	ledger   *ledger
	target   string
	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex // guards the fields below
	open     map[net.Conn]bool
	closed   bool
}

// newTap listens on a unix socket until end, and passes on to target, host:port.
func newTap(socket, target string, l *ledger) (*tap, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	t := &tap{ledger: l, target: target, listener: listener, open: map[net.Conn]bool{}}
	t.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			t.running.Go(func() { t.connect(client) })
		}
	})
	return t, nil
}

// end closes all, and returns when nothing runs any more.
func (t *tap) end() {
	_ = t.listener.Close()
	t.mu.Lock()
	t.closed = true
	for c := range t.open {
		_ = c.Close()
	}
	t.mu.Unlock()
	t.running.Wait()
}

// hold remembers connections to be closed at the end; false if that is now.
func (t *tap) hold(conns ...net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range conns {
		t.open[c] = true
	}
	return !t.closed
}

func (t *tap) connect(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", t.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !t.hold(client, server) {
		return
	}
	// Each command is put here before it is passed on, so that it is there when
	// its answer comes. A node has at most a round's calls on their way.
	kinds := make(chan string, 1<<16)
	var back sync.WaitGroup
	back.Go(func() {
		_ = t.answers(server, client, kinds) // the node notices what ended it
		_ = client.Close()
	})
	_ = t.commands(client, server, kinds)
	_ = server.Close()
	back.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, client)
	delete(t.open, server)
}

// commands passes a node's commands on.
func (t *tap) commands(from io.Reader, to io.Writer, kinds chan<- string) error {
	r, raw := bufio.NewReader(from), []byte(nil)
	for {
		begun := len(raw)
		var words [][]byte
		var err error
		if words, raw, err = readCommand(r, raw); err != nil {
			return err
		}
		kind, c := judge(words)
		c.In = uint64(len(raw) - begun)
		t.ledger.add(kind, c)
		kinds <- kind
		if r.Buffered() > 0 && len(raw) < 1<<16 {
			continue
		}
		if _, err := to.Write(raw); err != nil {
			return err
		}
		raw = raw[:0]
	}
}

// answers passes Redis' answers on, in the order of the commands.
func (t *tap) answers(from io.Reader, to io.Writer, kinds <-chan string) error {
	r, raw := bufio.NewReader(from), []byte(nil)
	for {
		var err error
		if raw, err = readAnswer(r, raw[:0]); err != nil {
			return err
		}
		select {
		case kind := <-kinds:
			t.ledger.add(kind, Count{Out: uint64(len(raw))})
		default:
			return errors.New("an answer without a command")
		}
		if _, err := to.Write(raw); err != nil {
			return err
		}
	}
}

// judge returns the kind of a command, and what it counts as.
func judge(words [][]byte) (kind string, c Count) {
	c.Calls = 1
	if len(words) < 3 || !bytes.HasPrefix(bytes.ToLower(words[0]), []byte("fcall")) {
		return string(bytes.ToLower(words[0])), c
	}
	_, name, _ := bytes.Cut(words[1], []byte("_"))
	n, err := strconv.Atoi(string(words[2]))
	switch kind = string(name); {
	case err != nil:
	case kind == "split" && n > 0:
		c.Keys = uint64(n)
	case kind == "push" && n > 0 && len(words) == 3+2*n: // the first key is the partition's clock
		c.Keys = uint64(n - 1)
		for _, body := range words[3+n+1:] {
			if len(body) == 10 && body[8] == 0 && body[9] == 0 {
				c.Compared++
			}
		}
	}
	return kind, c
}

// readCommand reads an array of strings, the form in which clients speak, and adds
// what it read to raw. The words are in raw, until it is used again.
func readCommand(r *bufio.Reader, raw []byte) (words [][]byte, _ []byte, err error) {
	n, raw, err := readLine(r, raw, '*')
	if err != nil {
		return nil, raw, err
	}
	if n < 1 {
		return nil, raw, errors.New("a command without a word")
	}
	var ends, sizes []int // raw moves while it grows
	for range n {
		var size int
		if size, raw, err = readLine(r, raw, '$'); err != nil {
			return nil, raw, err
		}
		if raw, err = readText(r, raw, size); err != nil {
			return nil, raw, err
		}
		ends, sizes = append(ends, len(raw)-2), append(sizes, size)
	}
	for i, end := range ends {
		words = append(words, raw[end-sizes[i]:end])
	}
	return words, raw, nil
}

// readAnswer reads one answer, and adds it to raw.
func readAnswer(r *bufio.Reader, raw []byte) ([]byte, error) {
	for left := 1; left > 0; left-- {
		next, err := r.Peek(1)
		if err != nil {
			return raw, err
		}
		kind := next[0]
		n := 0
		if n, raw, err = readLine(r, raw, kind); err != nil {
			return raw, err
		}
		switch {
		case kind == '*':
			left += min(max(n, 0), mostBytes)
		case kind == '$' && n >= 0:
			if raw, err = readText(r, raw, n); err != nil {
				return raw, err
			}
		}
	}
	return raw, nil
}

// readLine reads a line that begins with kind, adds it to raw, and returns its
// number, 0 where it has none.
func readLine(r *bufio.Reader, raw []byte, kind byte) (int, []byte, error) {
	line, err := r.ReadSlice('\n')
	raw = append(raw, line...)
	if err != nil {
		return 0, raw, err
	}
	if line[0] != kind {
		return 0, raw, fmt.Errorf("%q does not begin with %q", line, kind)
	}
	if kind != '*' && kind != '$' {
		return 0, raw, nil
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	return n, raw, err
}

// mostBytes bounds a text: nodes and Redis send shorter ones.
const mostBytes = 32 << 20

// readText reads a text of a size with its line end, and adds it to raw.
func readText(r *bufio.Reader, raw []byte, size int) ([]byte, error) {
	if size < 0 || size > mostBytes {
		return raw, fmt.Errorf("a text of %d bytes", size)
	}
	at := len(raw)
	raw = append(raw, make([]byte, size+2)...)
	_, err := io.ReadFull(r, raw[at:])
	return raw, err
}
