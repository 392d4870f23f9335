package peers

import (
	"encoding/binary"
	"fmt"

	"edgeguard/haproxy"
)

// reader reads one body. After what it cannot read, it reads nothing more, and err
// says what was missing.
type reader struct {
	b       []byte
	at      int
	missing string
}

func (r *reader) fail(what string) {
	if r.missing == "" {
		r.missing = what
	}
	r.at = len(r.b)
}

func (r *reader) restBytes() []byte { return r.b[r.at:] }

func (r *reader) varint(what string) uint64 {
	v, n := haproxy.ReadVarint(r.restBytes())
	if n <= 0 {
		r.fail(what)
		return 0
	}
	r.at += n
	return v
}

func (r *reader) bytes(n uint64, what string) []byte {
	if n > uint64(len(r.restBytes())) {
		r.fail(what)
		return nil
	}
	part := r.b[r.at : r.at+int(n) : r.at+int(n)]
	r.at += int(n)
	return part
}

func (r *reader) uint32(what string) uint32 {
	if part := r.bytes(4, what); part != nil {
		return binary.BigEndian.Uint32(part)
	}
	return 0
}

// missingPart returns nil, or an error that says which part of the message is missing.
func (r *reader) missingPart(k Kind) error {
	if r.missing == "" {
		return nil
	}
	return fmt.Errorf("%s of %d bytes: it ends before %s, or that is no number: this is not HAProxy's peers protocol 2.1", k, len(r.b), r.missing)
}

func appendUint32(b []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(b, v) }
