package spop

import "strings"

const (
	version = "2.0"
	// pipelining is the capability without which HAProxy sends a NOTIFY only after
	// the ACK of the one before.
	pipelining = "pipelining"
)

// Hello is what HAProxy says of itself on a connection.
type Hello struct {
	// MaxFrame is the longest frame that HAProxy sends and accepts.
	MaxFrame uint32
	// HealthCheck says that HAProxy only wants to see a HELLO, and closes then.
	HealthCheck bool
}

// ReadHello reads the payload of a HELLO. Every error is a [Status], to be sent in a
// DISCONNECT.
func ReadHello(payload []byte) (Hello, error) {
	var hello Hello
	versions, size := Value{}, Value{}
	for len(payload) > 0 {
		name, v, rest, ok := readPair(payload)
		if !ok {
			return Hello{}, Invalid
		}
		payload = rest
		switch string(name) {
		case "supported-versions":
			versions = v
		case "max-frame-size":
			size = v
		case "healthcheck":
			hello.HealthCheck = v.IsTrue()
		}
	}
	offered, ok := versions.Text()
	if !ok {
		return Hello{}, NoVersion
	}
	most, ok := size.Uint()
	switch {
	case !ok:
		return Hello{}, NoFrameSize
	case !speaks(string(offered)):
		return Hello{}, BadVersion
	case most < LeastFrame || most > 1<<31:
		return Hello{}, BadFrameSize
	}
	hello.MaxFrame = uint32(most)
	return hello, nil
}

// speaks reports whether a list of versions has ours. A later 2.x is one that
// HAProxy would speak with an agent of 2.0, and it lists that, too.
func speaks(versions string) bool {
	for offered := range strings.SplitSeq(versions, ",") {
		if strings.TrimSpace(offered) == version {
			return true
		}
	}
	return false
}

// AppendHello appends the agent's HELLO. maxFrame is the longest frame from now on in
// both directions, and not more than HAProxy's.
func AppendHello(b []byte, maxFrame uint32) []byte {
	start := len(b)
	b = begin(b, TypeAgentHello, 0, 0)
	b = appendTextPair(b, "version", version)
	b = appendUintPair(b, "max-frame-size", maxFrame)
	b = appendTextPair(b, "capabilities", pipelining)
	return endFrame(b, start)
}

// ReadDisconnect reads why HAProxy closes: a status, and a text in HAProxy's words.
func ReadDisconnect(payload []byte) (why Status, text []byte, err error) {
	for len(payload) > 0 {
		name, v, rest, ok := readPair(payload)
		if !ok {
			return 0, nil, Invalid
		}
		payload = rest
		switch string(name) {
		case "status-code":
			n, ok := v.Uint()
			if !ok || n > 1<<31 {
				return 0, nil, Invalid
			}
			why = Status(n)
		case "message":
			text, _ = v.Text()
		}
	}
	return why, text, nil
}

// AppendDisconnect appends the agent's DISCONNECT, which is the last that it sends.
func AppendDisconnect(b []byte, why Status) []byte {
	start := len(b)
	b = begin(b, TypeAgentDisconnect, 0, 0)
	b = appendUintPair(b, "status-code", uint32(why))
	b = appendTextPair(b, "message", why.Error())
	return endFrame(b, start)
}
