package real

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"edgeguard/internal/sleep"
	"edgeguard/loadtest/traffic"
)

// mostTogether bounds the requests that are sent before their answers are read:
// neither side's buffer is full.
const mostTogether = 64

// sender asks one node about its part of the traffic.
type sender struct {
	socket   string
	requests []traffic.Request
	// crossings are the requests of which the time is kept.
	crossings map[uint32]time.Duration

	crossed map[uint32]time.Time // when these were sent
	latest  time.Duration        // by how much a request came too late, at most
}

func newSender(folder string, crossings map[uint32]time.Duration) *sender {
	return &sender{
		socket: filepath.Join(folder, "auth"), crossings: crossings,
		crossed: map[uint32]time.Time{},
	}
}

// send sends all at their time since begin, over one connection, as a proxy does.
// Each request is answered, else there is an error: none is lost.
func (s *sender) send(ctx context.Context, begin time.Time) error {
	conn, err := net.Dial("unix", s.socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	answers := bufio.NewReader(conn)
	var text []byte
	for left := s.requests; len(left) > 0; {
		due := time.Since(begin)
		n := 0
		for n < min(len(left), mostTogether) && left[n].At <= due {
			n++
		}
		if n == 0 {
			// Not for each request by itself: eight processes share the machine.
			if sleep.For(ctx, max(left[0].At-due, 2*time.Millisecond)); ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		text = text[:0]
		for _, r := range left[:n] {
			s.latest = max(s.latest, due-r.At)
			if at, ok := s.crossings[r.Client]; ok && at == r.At {
				s.crossed[r.Client] = time.Now()
			}
			text = appendQuestion(text, r)
		}
		if err := s.ask(conn, answers, text, n); err != nil {
			return fmt.Errorf("asking %s: %w", s.socket, err)
		}
		left = left[n:]
	}
	return nil
}

// ask puts some questions together, and reads their answers.
func (s *sender) ask(conn net.Conn, answers *bufio.Reader, text []byte, asked int) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := conn.Write(text); err != nil {
		return err
	}
	for range asked {
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			return err
		}
		if !slices.Contains([]int{http.StatusForbidden, http.StatusOK, http.StatusNoContent}, answer.StatusCode) {
			return fmt.Errorf("the node answered %s", answer.Status)
		}
	}
	return nil
}

// appendQuestion writes a request as nginx asks about it.
func appendQuestion(text []byte, r traffic.Request) []byte {
	text = append(text, "GET /auth/nginx HTTP/1.1\r\nHost: localhost\r\nX-Original-URI: /\r\nX-Original-Method: GET\r\nX-Real-IP: "...)
	return append(r.Addr().AppendTo(text), "\r\n\r\n"...)
}
