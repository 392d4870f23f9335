package torture

import (
	"net/netip"
	"strconv"
	"time"
)

// liner writes lines of a combined log. The date, which costs most, is written
// once a second.
type liner struct {
	date   []byte
	second int64
}

// line appends a line about a client's request as of now.
func (l *liner) line(to []byte, now time.Time, client netip.Addr, method, path string, status int) []byte {
	if second := now.Unix(); second != l.second {
		l.second, l.date = second, now.AppendFormat(l.date[:0], " - - [02/Jan/2006:15:04:05 -0700] \"")
	}
	to = append(client.AppendTo(to), l.date...)
	to = append(append(append(to, method...), ' '), path...)
	to = append(to, " HTTP/1.1\" "...)
	return append(strconv.AppendInt(to, int64(status), 10), " 5 \"-\" \"-\"\n"...)
}
