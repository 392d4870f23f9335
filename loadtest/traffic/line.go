package traffic

import (
	"net/netip"
	"strconv"
	"time"
)

// line is one line of an access log in the combined format of Apache and
// nginx.
type line struct {
	at     int64 // Unix seconds
	addr   netip.Addr
	method string // empty: target is the whole request line, as it is for TLS sent to an HTTP port
	target string
	status int
	bytes  int
	// referer and agent are written as they are: the caller escapes quotes as
	// nginx does (\x22). Empty is written "-".
	referer, agent string
}

// stampLayout is the time of the combined format, in the form of package time.
const stampLayout = "02/Jan/2006:15:04:05 -0700"

// append writes the line, with its newline, behind buf.
func (l *line) append(buf []byte) []byte {
	buf = l.addr.AppendTo(buf)
	buf = append(buf, " - - ["...)
	buf = time.Unix(l.at, 0).UTC().AppendFormat(buf, stampLayout)
	return l.appendRest(append(buf, "] \""...))
}

// appendRest writes what follows the time: long logs format one time a
// second, not one a line.
func (l *line) appendRest(buf []byte) []byte {
	if l.method != "" {
		buf = append(append(buf, l.method...), ' ')
	}
	buf = append(buf, l.target...)
	if l.method != "" {
		buf = append(buf, " HTTP/1.1"...)
	}
	buf = strconv.AppendInt(append(buf, "\" "...), int64(l.status), 10)
	buf = strconv.AppendInt(append(buf, ' '), int64(l.bytes), 10)
	buf = append(append(buf, " \""...), orDash(l.referer)...)
	buf = append(append(buf, "\" \""...), orDash(l.agent)...)
	return append(buf, "\"\n"...)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
