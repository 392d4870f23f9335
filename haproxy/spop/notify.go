package spop

// Notify reads the arguments of a NOTIFY, one after the other. Make one with
// [ReadNotify], call Next until it returns false, and then Err.
type Notify struct {
	rest  []byte
	left  int // arguments of the message that is read
	name  []byte
	value Value
	bad   bool
}

// ReadNotify returns a reader of a NOTIFY's payload.
func ReadNotify(payload []byte) Notify { return Notify{rest: payload} }

// NextArg reads the next argument of the messages, whose own names are passed over: a
// NOTIFY is about one request, however many messages describe it.
func (n *Notify) NextArg() bool {
	for n.left == 0 {
		if len(n.rest) == 0 || n.bad {
			return false
		}
		_, rest, ok := readText(n.rest)
		if !ok || len(rest) == 0 {
			return n.fail()
		}
		n.left, n.rest = int(rest[0]), rest[1:]
	}
	name, value, rest, ok := readPair(n.rest)
	if !ok {
		return n.fail()
	}
	n.name, n.value, n.rest = name, value, rest
	n.left--
	return true
}

func (n *Notify) fail() bool {
	n.left, n.bad = 0, true
	return false
}

// ArgName returns the name of the argument that Next has read.
func (n *Notify) ArgName() []byte { return n.name }

// Value returns the value of the argument that Next has read.
func (n *Notify) Value() Value { return n.value }

// Err returns [Invalid] if the payload could not be read to its end.
func (n *Notify) Err() error {
	if n.bad {
		return Invalid
	}
	return nil
}

// Ack appends the answer to a NOTIFY. Make one with [BeginAck].
type Ack struct {
	b     []byte
	start int
}

const (
	setVar     = 1
	setVarArgs = 3
	scopeTxn   = 2 // the variable lives as long as the request and its answer
)

// BeginAck begins the answer to a NOTIFY at the end of b. It needs at least one
// variable: HAProxy 3.1 waits for its time-out after an ACK without any.
func BeginAck(b []byte, to Frame) Ack {
	return Ack{b: begin(b, TypeAck, to.Stream, to.ID), start: len(b)}
}

// SetUint has HAProxy set a variable of the request to a number.
func (a *Ack) SetUint(name string, n uint32) {
	a.b = appendUintPair(append(a.b, setVar, setVarArgs, scopeTxn), name, n)
}

// SetText has HAProxy set a variable of the request to a text.
func (a *Ack) SetText(name, text string) {
	a.b = appendTextPair(append(a.b, setVar, setVarArgs, scopeTxn), name, text)
}

// FrameBytes returns the bytes that BeginAck was called with and the whole answer.
func (a *Ack) FrameBytes() []byte { return endFrame(a.b, a.start) }
