package spop_test

import (
	"errors"
	"net/netip"
	"testing"

	"edgeguard/haproxy/spop"
	"edgeguard/haproxy/spop/spoptest"
)

// FuzzFrames reads whatever may arrive: every error is a status that can be sent,
// nothing panics, and no argument is longer than what it came in.
func FuzzFrames(f *testing.F) {
	f.Add(spoptest.Hello("2.0", spop.UsualFrame, false), uint16(spop.UsualFrame))
	f.Add(spoptest.Hello("2.0", spop.LeastFrame, true), uint16(spop.LeastFrame))
	f.Add(spoptest.Notify(1, 2, spoptest.Arg{Name: "src", Value: netip.MustParseAddr("2001:db8::9")}, spoptest.Arg{Name: "path", Value: "/"}), uint16(300))
	f.Add(spop.AppendDisconnect(nil, spop.TooBig), uint16(300))
	f.Fuzz(func(t *testing.T, b []byte, most uint16) {
		for {
			frame, size, err := spop.NextFrame(b, int(most))
			if err != nil || size == 0 {
				isStatus(t, err)
				return
			}
			if size > len(b) || size > int(most)+4 || len(frame.Payload) > size {
				t.Fatalf("%d bytes of %d", size, len(b))
			}
			payload(t, frame)
			b = b[size:]
		}
	})
}

// payload reads a frame's payload in every way.
func payload(t *testing.T, f spop.Frame) {
	_, err := spop.ReadHello(f.Payload)
	isStatus(t, err)
	_, _, err = spop.ReadDisconnect(f.Payload)
	isStatus(t, err)
	read := 0
	n := spop.ReadNotify(f.Payload)
	for n.NextArg() {
		text, _ := n.Value().Text()
		read += len(n.ArgName()) + len(text)
		if a, ok := n.Value().Addr(); ok && (!a.IsValid() || a.Is4In6()) {
			t.Errorf("the address %v", a)
		}
	}
	if read > len(f.Payload) {
		t.Errorf("%d bytes of arguments in %d", read, len(f.Payload))
	}
	isStatus(t, n.Err())
}

func isStatus(t *testing.T, err error) {
	var s spop.Status
	if err != nil && (!errors.As(err, &s) || s == spop.Normal) {
		t.Errorf("%v cannot be sent in a DISCONNECT", err)
	}
}
