package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// conn is a connection to a web server that is opened again when the server has closed it,
// as nginx does after a reload.
type conn struct {
	address string
	c       net.Conn
	r       *bufio.Reader
	request []byte
}

func (c *conn) close() {
	if c.c != nil {
		_ = c.c.Close()
		c.c = nil
	}
}

// ask sends a request of a client, once more over a new connection if the first has ended.
func (c *conn) ask(ctx context.Context, from netip.Addr) (status int, err error) {
	for range 2 {
		if c.c == nil {
			if c.c, err = new(net.Dialer).DialContext(ctx, "tcp", c.address); err != nil {
				return 0, err
			}
			c.r = bufio.NewReader(c.c)
		}
		_ = c.c.SetDeadline(time.Now().Add(patience))
		c.request = appendRequest(c.request[:0], from)
		_, err = c.c.Write(c.request)
		if err == nil {
			var goesOn bool
			if status, goesOn, err = readAnswer(c.r); err == nil {
				if !goesOn {
					c.close()
				}
				return status, nil
			}
		}
		c.close()
	}
	return 0, errors.Join(fmt.Errorf("the web server closed the connection: %w", err), ctx.Err())
}

// appendRequest writes what a client sends as its browser does. The proxy in front names
// him in X-Forwarded-For.
func appendRequest(b []byte, from netip.Addr) []byte {
	b = append(b, "GET /x.txt HTTP/1.1\r\nHost: site.example\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"+
		"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nX-Forwarded-For: "...)
	return append(from.AppendTo(b), "\r\n\r\n"...)
}

// readAnswer reads an answer with its body, and whether the connection goes on.
func readAnswer(r *bufio.Reader) (status int, goesOn bool, err error) {
	goesOn, length := true, 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimSpace(bytes.ToLower(line))
		switch {
		case first && len(line) >= 12:
			status, _ = strconv.Atoi(string(line[9:12])) // 0 is no good status either
		case bytes.Equal(line, []byte("connection: close")):
			goesOn = false
		case bytes.HasPrefix(line, []byte("content-length: ")):
			if length, err = strconv.Atoi(string(line[16:])); err != nil {
				return 0, false, err
			}
		case len(line) == 0:
			_, err := io.CopyN(io.Discard, r, int64(length))
			return status, goesOn, err
		}
	}
}
