package accesslog

import (
	"bufio"
	"bytes"
	"errors"

	"edgeguard/logline/scan"
)

// frames makes lines of what one connection sends. Where its first message is one of syslog with
// its length before it (octet counting, RFC 6587), all of them are: "134 <134>192.0.2.1…". Else
// its bytes are lines already.
type frames struct {
	*bufio.Reader
	dropped func(lines uint64) // is told what the sender says it could not send
	begun   bool
	counted bool // the messages have their lengths
	left    int  // bytes of the message that was begun
}

var errFrame = errors.New("a message without its length")

// maxDigits is that of a length; maxNotice is more than HAProxy's message about what its ring dropped.
const maxDigits, maxNotice = 7, 40

// framesRoom is how much is read together; a message may be longer.
const framesRoom = 64 << 10

// Read returns what came, and waits for no message but the first and the rest of one that was begun.
// A newline inside a message is a client's, and becomes a blank.
func (f *frames) Read(b []byte) (n int, err error) {
	if !f.begun {
		f.begun, f.counted = true, f.isCounted()
	}
	if !f.counted {
		return f.Reader.Read(b)
	}
	for n == 0 || n < len(b) && f.Buffered() > 0 {
		if f.left == 0 {
			if f.left, err = f.length(); err != nil || f.left == 0 {
				return n, err
			}
			f.left++ // for the newline
		}
		if f.left > 1 {
			got, err := f.Reader.Read(b[n:min(len(b), n+f.left-1)])
			f.left -= got
			for i := n; i < n+got-1 || i < n+got && f.left > 1; i++ {
				if b[i] == '\n' {
					b[i] = ' '
				}
			}
			if n += got; err != nil {
				return n, err
			}
		}
		if f.left == 1 && n < len(b) {
			b[n] = '\n'
			n, f.left = n+1, 0
		}
	}
	return n, nil
}

// isCounted reports whether the connection begins with a length and a priority. It waits for no
// more bytes than it takes to know.
func (f *frames) isCounted() bool {
	for n := 1; ; n++ {
		b, err := f.Peek(n)
		digits := len(b) - len(bytes.TrimLeft(b, "0123456789"))
		switch {
		case err != nil || digits == 0 || digits > maxDigits:
			return false
		case n == digits:
		case n == digits+1 && b[digits] == ' ', n == digits+2 && b[digits+1] == '<':
		default:
			return n == digits+3 && scan.IsDigit(b[n-1])
		}
	}
}

// length reads the length of the next message that is none about the sender's ring.
func (f *frames) length() (int, error) {
	for {
		n := 0
		for digits := 0; ; digits++ {
			c, err := f.ReadByte()
			switch {
			case err != nil:
				return 0, err
			case c == ' ' && digits > 0:
			case !scan.IsDigit(c) || digits == maxDigits:
				return 0, errFrame
			default:
				n = 10*n + int(c-'0')
				continue
			}
			break
		}
		if n > maxNotice {
			return n, nil
		}
		b, err := f.Peek(n)
		if err != nil {
			return 0, err
		}
		lines := scan.RingDropped(b)
		if lines == 0 && n > 0 {
			return n, nil
		}
		f.dropped(lines)
		_, _ = f.Discard(n)
	}
}
