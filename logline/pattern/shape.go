package pattern

import (
	"strings"

	"edgeguard/logline/scan"
)

// shape reads a field that ends by its own shape, and returns its length.
func (p *parser) shape(st *step, b []byte) (n int, ok bool) {
	switch st.what {
	case scan.PartAddr, whatPeer:
		return p.address(st, b)
	case scan.PartStatus:
		return p.number3(st, b)
	case scan.PartPort:
		return p.portAt(st, b)
	case whatDate:
		if n, ok = p.date.Read(st.date, b); !ok {
			p.why = scan.BadTime
		}
		return n, ok
	}
	var t scan.Instant
	switch st.what {
	case whatCLF:
		t, n, ok = p.Clock.CLF(b)
	case whatISO:
		t, n, ok = p.Clock.ISO(b)
	case whatUnix:
		t, n, ok = scan.UnixNumber(b, 1)
	case whatMilli:
		t, n, ok = scan.UnixNumber(b, 1e3)
	case whatMicro:
		t, n, ok = scan.UnixNumber(b, 1e6)
	}
	if !ok {
		p.why = scan.BadTime
	} else if !st.again {
		p.f.At = t
	}
	return n, ok
}

func (p *parser) address(st *step, b []byte) (int, bool) {
	addr, n, ok := scan.AddrAt(b)
	if !ok && scan.HasPrefix(b, "[") || ok && n < len(b) && b[n] == ':' && !strings.HasPrefix(st.lit, ":") { // brackets or a port
		if n = len(b); st.lit != "" {
			n = max(indexShort(b[:min(n, maxShape)], st.lit), 0)
		}
		addr, ok = scan.AddrMaybePort(b[:n])
	}
	if !ok {
		p.why = scan.WhyNoAddr(b)
		return 0, false
	}
	switch {
	case st.again:
	case st.what == whatPeer:
		p.f.Peer = addr
	default:
		p.f.Addr = addr
	}
	return n, true
}

// number3 reads a status: three digits, or the dash or 000 that mean none.
func (p *parser) number3(st *step, b []byte) (int, bool) {
	v := 0
	switch {
	case scan.Number(b, 3, &v) > 0:
		if !st.again {
			p.f.SetStatus(v)
		}
		return 3, true
	case scan.HasPrefix(b, "-1"): // HAProxy
		return 2, true
	case scan.HasPrefix(b, "-"):
		return 1, true
	}
	return 0, false
}

func (p *parser) portAt(st *step, b []byte) (n int, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		return 1, true
	}
	v, n := scan.Digits(b, 5)
	if !st.again {
		p.f.SetPort(v)
	}
	return n, n > 0
}

// set keeps the text of a field. It fails only for an address that is none.
func (p *parser) set(st *step, b []byte) bool {
	if st.again {
		return true
	}
	if st.what != whatAddrPort {
		p.f.Set(st.what, b)
		return true
	}
	addr, ok := scan.AddrWithPort(b)
	if !ok {
		p.why = scan.BadAddr
	}
	p.f.Addr = addr
	return ok
}
