//go:build linux

package node

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Lines by UDP block whom a log of this host would block. Where other hosts can
// send, anybody writes the lines and their sender: they raise an alarm and block no
// address, and what the address itself does is counted apart.
func TestUDPEvidence(t *testing.T) {
	for _, test := range []struct {
		listen string
		blocks bool
	}{
		{`listen: "udp:127.0.0.1:0"`, true},
		{`listen: "udp:0.0.0.0:0", from: [127.0.0.0/8]`, false},
	} {
		t.Run(test.listen, func(t *testing.T) {
			u := newNode(t, shortDir(t), strings.Replace(small, "file: $DIR/access.log", test.listen, 1)).start()
			log := u.logs.All()[0]
			u.eventually("it listens", func() bool { return log.listener.Load() != nil })
			c, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", log.listener.Load().Addr().(*net.UDPAddr).Port))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			stamp := time.Now().Format("02/Jan/2006:15:04:05 -0700")
			for range 20 {
				fmt.Fprintf(c, "<190>Nov 23 03:00:00 web1 nginx: 203.0.113.9 - - [%s] \"GET / HTTP/1.1\" 200 5 \"-\" \"test\"", stamp)
			}
			fmt.Fprint(c, "no message of syslog")
			u.eventually("all lines are counted", func() bool {
				s := u.view().Stats()
				return s.Logs[0].Parsed == 20 && s.Logs[0].Refused == 1 && s.Logs[0].Lost == 0
			})
			if test.blocks {
				u.eventually("the address is blocked", func() bool { return u.blocked("203.0.113.9") })
				return
			}
			u.eventually("it is an alarm", func() bool {
				return strings.Contains(u.log.String(), "203.0.113.9 exceeded the limit of rule small and is not blocked")
			})
			if u.blocked("203.0.113.9") {
				t.Error("blocked on lines that anybody can send")
			}
			for range 10 {
				u.request("203.0.113.9")
			}
			if u.blocked("203.0.113.9") {
				t.Error("forged lines add up with what the address did")
			}
			u.request("203.0.113.9")
			if !u.blocked("203.0.113.9") {
				t.Error("what the address did itself is not counted")
			}
		})
	}
}
