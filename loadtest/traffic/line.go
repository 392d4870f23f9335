package traffic

import (
	"net/netip"
	"strconv"
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

// origin begins the referers of lines.
const origin = "https://harbour.example"

var browsers = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Safari/537.36",
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Safari/605.1.15",
	"Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:139.0) Gecko/20100101 Firefox/139.0",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.4 Mobile/15E148 Safari/604.1",
	"Mozilla/5.0 (Linux; Android 15; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36",
}

var searches = []string{"rope", "lantern", "oil+lamp", "brass+bell", "chart", "compass", "knife"}

// stampLayout is the time of the combined format, in the form of package time.
const stampLayout = "02/Jan/2006:15:04:05 -0700"

// appendRest writes what follows the time, which is formatted once a second.
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
