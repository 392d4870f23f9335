package clients

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func peer(addr string) *auth.AttributeContext_Peer {
	return &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{Address: addr}}}}
}

// wire is a client that sends frames of HTTP/2 as it likes.
type wire struct {
	*testing.T
	net.Conn
	*http2.Framer
	header bytes.Buffer
	hpack  *hpack.Encoder
	next   uint32 // the number of the next stream
}

func dial(t *testing.T, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	w := &wire{T: t, Conn: c, Framer: http2.NewFramer(c, c), next: 1}
	w.hpack = hpack.NewEncoder(&w.header)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return w
}

// open begins a call, whose message does not come yet.
func (w *wire) open() (stream uint32, err error) {
	w.header.Reset()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":authority", "edgeguard"}, {":path", "/envoy.service.auth.v3.Authorization/Check"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		_ = w.hpack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	stream = w.next
	w.next += 2
	return stream, w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: w.header.Bytes(), EndHeaders: true})
}

// answered reads frames until one satisfies, or the connection ends.
func (w *wire) answered(is func(http2.Frame) bool) error {
	for {
		f, err := w.ReadFrame()
		if err != nil {
			return err
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = w.WriteSettingsAck()
			}
		case *http2.GoAwayFrame:
			return errors.New("GOAWAY " + f.ErrCode.String())
		}
		if is(f) {
			return nil
		}
	}
}

// asks calls once and waits for the trailers.
func (w *wire) asks() error {
	stream, err := w.open()
	if err != nil {
		return err
	}
	if err := w.WriteData(stream, true, []byte{0, 0, 0, 0, 0}); err != nil {
		return err
	}
	return w.answered(func(f http2.Frame) bool {
		h, ok := f.(*http2.HeadersFrame)
		return ok && f.Header().StreamID == stream && h.StreamEnded()
	})
}

// A client that sends a few PINGs, as gRPC's keep-alive does, gets its answers. One that sends
// them without end is told to go, and others are answered.
func TestPings(t *testing.T) {
	address := node(t, tenAMinute)
	w := dial(t, address)
	ping := func(i int) error {
		if err := w.WritePing(false, [8]byte{byte(i)}); err != nil {
			return err
		}
		return w.answered(func(f http2.Frame) bool { p, ok := f.(*http2.PingFrame); return ok && p.IsAck() })
	}
	for i := range 50 {
		if err := ping(i); err != nil {
			t.Fatalf("PING %d: %v", i, err)
		}
	}
	if err := w.asks(); err != nil {
		t.Error(err)
	}
	var err error
	for i := 0; i < 10_000 && err == nil; i++ {
		err = ping(i)
	}
	if err == nil || !strings.Contains(err.Error(), "ENHANCE_YOUR_CALM") {
		t.Errorf("PINGs without end: %v", err)
	}
	if err := dial(t, address).asks(); err != nil {
		t.Error(err)
	}
}

// A connection may have 100 calls whose messages do not come. With one more it is cut off,
// or that one is refused, and other connections are answered.
func TestManyStreams(t *testing.T) {
	address := node(t, tenAMinute)
	w := dial(t, address)
	most := uint32(0)
	if err := w.answered(func(f http2.Frame) bool {
		s, ok := f.(*http2.SettingsFrame)
		if ok {
			most, _ = s.Value(http2.SettingMaxConcurrentStreams)
		}
		return ok
	}); err != nil || most != 100 {
		t.Fatalf("%d calls are allowed: %v", most, err)
	}
	_ = w.WriteSettingsAck()
	if err := w.answered(func(f http2.Frame) bool { s, ok := f.(*http2.SettingsFrame); return ok && s.IsAck() }); err != nil {
		t.Fatal(err)
	}
	for range most {
		if _, err := w.open(); err != nil {
			t.Fatal(err)
		}
	}
	late, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	err = w.answered(func(f http2.Frame) bool {
		r, ok := f.(*http2.RSTStreamFrame)
		return ok && r.StreamID == late && r.ErrCode == http2.ErrCodeRefusedStream
	})
	t.Logf("one more: %v", err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("one more is neither refused nor cut off")
	}
	if err := dial(t, address).asks(); err != nil {
		t.Errorf("another connection: %v", err)
	}
}

// A client that begins calls and resets them without end (CVE-2023-44487) is cut off, or
// served, and others are answered all the same.
func TestRapidReset(t *testing.T) {
	address := node(t, tenAMinute)
	w := dial(t, address)
	go func() { _ = w.answered(func(http2.Frame) bool { return false }) }() // reads, so that the server can write
	sent := 0
	for ; sent < 50_000; sent++ {
		stream, err := w.open()
		if err == nil {
			err = w.WriteRSTStream(stream, http2.ErrCodeCancel)
		}
		if err != nil {
			break // it was cut off
		}
	}
	t.Logf("%d calls were begun and reset", sent)
	other := dial(t, address)
	begun := time.Now()
	if err := other.asks(); err != nil {
		t.Errorf("another connection: %v", err)
	}
	t.Logf("another connection was answered after %v", time.Since(begun))
}
