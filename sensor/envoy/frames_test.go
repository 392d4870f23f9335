package envoy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// raw is a frame of HTTP/2.
func raw(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

const opening = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

var (
	setting  = raw(4, 0, 0, "")
	ping     = raw(6, 0, 0, "12345678")
	question = raw(frameHeaders, 5, 1, "\x83\x86\x84\x41\x01a")
	taken    = raw(frameReset, 0, 1, "\x00\x00\x00\x08")
)

// What a connection may send, however its bytes come.
func TestFrames(t *testing.T) {
	again := strings.Repeat
	for name, c := range map[string]struct {
		sent  string
		after time.Duration
		then  string
		want  conduct
	}{
		"settings alone":             {sent: setting, want: yields},
		"as many pings as may be":    {sent: again(ping, mostOdd), want: yields},
		"a ping more":                {sent: again(ping, mostOdd+1), want: ends},
		"settings":                   {sent: again(setting, mostOdd+1), want: ends},
		"priorities":                 {sent: again(raw(2, 0, 1, "12345"), mostOdd+1), want: ends},
		"windows":                    {sent: again(raw(8, 0, 0, "\x00\x00\x00\x01"), mostOdd+1), want: ends},
		"an unknown type":            {sent: again(raw(77, 0, 0, "x"), mostOdd+1), want: ends},
		"resets of no question":      {sent: again(taken, mostOdd+1), want: ends},
		"data that has nothing":      {sent: again(raw(frameData, 0, 1, ""), mostOdd+1), want: ends},
		"a second of pings":          {sent: again(ping, mostOdd), after: time.Second, then: again(ping, oddEach), want: yields},
		"more pings in that second":  {sent: again(ping, mostOdd), after: time.Second, then: again(ping, oddEach+1), want: ends},
		"questions":                  {sent: again(question+raw(frameData, 0, 1, "x")+raw(frameData, endsStream, 1, ""), 5000), want: goesOn},
		"a ping with each question":  {sent: again(question+ping, 5000), want: yields},
		"few questions are reset":    {sent: again(question+taken, mostOdd), want: yields},
		"many questions are reset":   {sent: again(question+taken, mostOdd+1), want: retires},
		"a payload is not a head":    {sent: raw(frameData, 0, 1, again(ping, 400)), want: goesOn},
		"the longest frame, no more": {sent: "\xff\xff\xff\x00\x00\x00\x00\x00\x01" + again(ping, 400), want: goesOn},
	} {
		for _, step := range []int{1, 7, 1 << 20} {
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			f, got := newFrames(now), goesOn
			for _, part := range []string{opening + c.sent, c.then} {
				for len(part) > 0 {
					n := min(step, len(part))
					got = max(got, f.read(now, []byte(part[:n])))
					part = part[n:]
				}
				now = now.Add(c.after)
			}
			if got != c.want {
				t.Errorf("%s, %d bytes together: %d, want %d", name, step, got, c.want)
			}
		}
	}
}

// goneAway reads frames until the connection ends, and returns the code of the GOAWAY; false
// if there was none.
func goneAway(t *testing.T, c net.Conn) (code uint32, ok bool) {
	t.Helper()
	for {
		head := make([]byte, headSize)
		if _, err := io.ReadFull(c, head); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Error(err)
			}
			return code, ok
		}
		payload := make([]byte, binary.BigEndian.Uint32(head)>>8)
		if _, err := io.ReadFull(c, payload); err != nil {
			t.Fatal(err)
		}
		if head[3] == 7 {
			code, ok = binary.BigEndian.Uint32(payload[4:]), true
		}
	}
}

// Who sends frames that carry no question without end is told to be calmer, and cut off.
func TestFloodOfFrames(t *testing.T) {
	for name, flood := range map[string]string{"PING": ping, "SETTINGS": setting, "RST_STREAM": taken} {
		s, c := start(t, Config{Config: inline.Config{Decide: passAll}, Look: passAll})
		near, err := c.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		first := opening + setting
		if flood == taken { // of a question that was asked
			first += question
		}
		if err := near.SetDeadline(time.Now().Add(time.Minute)); err != nil { // far more than it takes
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(near, first+strings.Repeat(flood, 3*mostOdd)) }()
		if code, ok := goneAway(t, near); !ok || code != 11 {
			t.Errorf("%s: GOAWAY %v, code %d", name, ok, code)
		}
		near.Close()
		if s.Stats().TurnedOff != 1 {
			t.Errorf("%s: %+v", name, s.Stats())
		}
		if status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/"))); status != "0" {
			t.Errorf("%s: another's question is answered with %s", name, status)
		}
	}
}

// Where clients give up many questions, the connection ends after it has answered what is
// under way, and the next questions come on another.
func TestManyResets(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	s, c := start(t, Config{Look: passAll, Config: inline.Config{Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if e.Path == "/slow" {
			inside <- struct{}{}
			<-goOn
		}
		return edgeguard.Verdict{}
	}}})
	slow := make(chan string, 1)
	go func() {
		status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/slow")))
		slow <- status
	}()
	<-inside
	for s.Stats().TurnedOff == 0 {
		ctx, cancel := context.WithCancel(t.Context())
		body, far := io.Pipe()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://envoy"+CheckMethod, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = far.Write([]byte{0}) // it has begun
			cancel()
			_ = far.Close()
		}()
		if _, err := c.Do(r); !errors.Is(err, context.Canceled) && s.Stats().TurnedOff == 0 { // the last may be told to come again
			t.Fatal(err)
		}
	}
	for range 10 {
		if status, _ := c.call(CheckMethod, frame(checkRequest("192.0.2.7", "GET", "h", "/"))); status != "0" {
			t.Fatalf("a question is answered with %s", status)
		}
	}
	close(goOn)
	if status := <-slow; status != "0" {
		t.Errorf("what was under way is answered with %s", status)
	}
	for s.Connections().Open > 2 { // the one that has ended is closed soon
		runtime.Gosched()
	}
}
