package logline

import "bytes"

// shape reads a field that ends by its own shape, and gives its length.
func (p *textParser) shape(st *step, b []byte) (n int, ok bool) {
	switch st.what {
	case whatAddr, whatPeer:
		return p.address(st, b)
	case whatStatus:
		return p.number3(st, b)
	case whatPort:
		return p.portAt(st, b)
	case whatDate:
		if n, ok = p.date.read(st.date, b); !ok {
			p.why = badTime
		}
		return n, ok
	}
	var t instant
	switch st.what {
	case whatCLF:
		t, n, ok = p.clock.clf(b)
	case whatISO:
		t, n, ok = p.clock.iso(b)
	case whatUnix:
		t, n, ok = unixNumber(b, 1)
	case whatMilli:
		t, n, ok = unixNumber(b, 1e3)
	case whatMicro:
		t, n, ok = unixNumber(b, 1e6)
	}
	if !ok {
		p.why = badTime
	} else if !st.again {
		p.f.at = t
	}
	return n, ok
}

func (p *textParser) address(st *step, b []byte) (int, bool) {
	addr, n, ok := addrAt(b)
	if !ok {
		p.why = whyNoAddr(b)
		return 0, false
	}
	switch {
	case st.again:
	case st.what == whatPeer:
		p.f.peer = addr
	default:
		p.f.addr = addr
	}
	return n, true
}

// whyNoAddr looks at what stands in the address's place.
func whyNoAddr(b []byte) reason {
	word, _, _ := bytes.Cut(b, []byte{' '})
	letters := false
	for _, c := range word {
		if !isAlnum(c) && c != '.' && c != '-' && c != '_' {
			if hasPrefix(word, "unix:") {
				return unixSocket
			}
			return notTheFormat
		}
		letters = letters || (c|0x20)-'a' < 26
	}
	if letters && bytes.IndexByte(word, '.') > 0 {
		return hostName
	}
	return badAddr
}

// number3 reads a status: three digits, or the dash or 000 that mean none.
func (p *textParser) number3(st *step, b []byte) (int, bool) {
	if len(b) > 0 && b[0] == '-' {
		return 1, true
	}
	v := 0
	if n := number(b, 3, &v); n == 0 {
		return 0, false
	}
	if !st.again {
		p.f.setStatus(v)
	}
	return 3, true
}

func (p *textParser) portAt(st *step, b []byte) (n int, ok bool) {
	if len(b) > 0 && b[0] == '-' {
		return 1, true
	}
	v := 0
	for n < len(b) && n < 5 && isDigit(b[n]) {
		v = v*10 + int(b[n]-'0')
		n++
	}
	if !st.again {
		p.f.setPort(v)
	}
	return n, n > 0
}

// set keeps the text of a field. It fails only for an address that is none.
func (p *textParser) set(st *step, b []byte) bool {
	if st.again {
		return true
	}
	switch st.what {
	case whatRequest:
		p.f.request = b
	case whatMethod:
		p.f.setMethod(b)
	case whatPath:
		p.f.setPath(b)
	case whatHost:
		p.f.setHost(b)
	case whatAgent:
		p.f.setAgent(b)
	case whatNode:
		p.f.setNode(b)
	case whatAddrPort:
		addr, ok := addrWithPort(b)
		if !ok {
			p.why = badAddr
		}
		p.f.addr = addr
		return ok
	}
	return true
}
