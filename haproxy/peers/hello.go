package peers

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxName is how many bytes a peer's or a table's name may have.
const maxName = 255

const (
	protocol = "HAProxyS"
	version  = "2.1"
	maxLine  = maxName + 32
)

// Hello is how the side that connects begins: which peer it calls, which it is, and
// its process. A HAProxy that was reloaded comes with another process.
type Hello struct {
	To, From string
	PID      int
}

// ReadHello returns the hello that b begins with, and how many bytes it has. n is 0
// if b ends before the hello does. The error is a *[Refusal] with the status to
// answer. Which names are known is for the caller to say.
func ReadHello(b []byte) (h Hello, n int, err error) {
	var lines [3]string
	for i := range lines {
		line, rest, whole := bytes.Cut(b[n:], []byte{'\n'})
		if len(line) > maxLine {
			return Hello{}, 0, &Refusal{BadProtocol, fmt.Sprintf("line %d of the hello is longer than %d bytes: this is not HAProxy's peers protocol", i+1, maxLine)}
		}
		if !whole {
			return Hello{}, 0, nil
		}
		lines[i], n = string(bytes.TrimSuffix(line, []byte{'\r'})), len(b)-len(rest)
		if i == 0 {
			if err := checkVersion(lines[0]); err != nil {
				return Hello{}, 0, err
			}
		}
	}
	if h, err = parseHello(lines[1], lines[2]); err != nil {
		return Hello{}, 0, err
	}
	return h, n, nil
}

func checkVersion(line string) error {
	name, number, _ := strings.Cut(line, " ")
	if name != protocol {
		return &Refusal{BadProtocol, fmt.Sprintf("the hello begins with %.20q, not with %q: this is not HAProxy's peers protocol", line, protocol)}
	}
	if number != version {
		return &Refusal{BadVersion, fmt.Sprintf("peers protocol %.20q, where only %s is spoken: use HAProxy 1.6 or newer", number, version)}
	}
	return nil
}

func parseHello(to, last string) (Hello, error) {
	fields := strings.Fields(last)
	if len(fields) < 2 {
		return Hello{}, &Refusal{BadProtocol, fmt.Sprintf("the hello's third line is %.40q, not a name and a process: this is not HAProxy's peers protocol", last)}
	}
	pid, err := strconv.Atoi(fields[1])
	if err != nil || pid < 0 || pid > math.MaxInt32 {
		return Hello{}, &Refusal{BadProtocol, fmt.Sprintf("the hello's process is %.20q, not the number of one: this is not HAProxy's peers protocol", fields[1])}
	}
	if len(to) > maxName || len(fields[0]) > maxName {
		return Hello{}, &Refusal{BadProtocol, fmt.Sprintf("a peer's name is longer than %d bytes: shorten it in HAProxy's section \"peers\"", maxName)}
	}
	return Hello{To: to, From: fields[0], PID: pid}, nil
}

// Status is the answer to a hello.
type Status int

// The statuses. After anything but Accepted, the side that answers closes.
const (
	Accepted    Status = 200
	TryLater    Status = 300
	BadProtocol Status = 501
	BadVersion  Status = 502
	WrongName   Status = 503 // the peer that was called is another
	UnknownPeer Status = 504 // the peer that calls is not known
)

var statusTexts = map[Status]string{
	Accepted:    "accepted",
	TryLater:    "try again later",
	BadProtocol: "protocol error",
	BadVersion:  "another version of the protocol",
	WrongName:   "the name that was called is not its own: it must equal HAProxy's localpeer",
	UnknownPeer: "the name of the caller is not in HAProxy's section \"peers\"",
}

func (s Status) String() string {
	if text, known := statusTexts[s]; known {
		return strconv.Itoa(int(s)) + " (" + text + ")"
	}
	return strconv.Itoa(int(s))
}

// AppendStatus returns b with the line of s.
func AppendStatus(b []byte, s Status) []byte {
	return append(strconv.AppendInt(b, int64(s), 10), '\n')
}

// Refusal is why a hello is refused, with the status to answer.
type Refusal struct {
	Status Status
	Why    string
}

func (r *Refusal) Error() string { return r.Why }
