//go:build linux

package accesslog

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
)

const syslogHeader = "<190>Nov 21 08:17:11 web1 nginx: "

// What this host sends to its loopback proves an address as a log does. What other
// hosts can send proves none: the sender of a datagram is whatever was written.
func TestListenUDP(t *testing.T) {
	for _, test := range []struct {
		address  string
		from     []netip.Prefix
		verified bool
	}{
		{"udp:127.0.0.1:0", nil, true},
		{"udp:0.0.0.0:0", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, false},
	} {
		t.Run(test.address, func(t *testing.T) {
			h := &heard{}
			var wrong atomic.Int64
			l := listen(t, h, ListenConfig{Live: Live{Format: format("combined"), Decide: func(now time.Time, events []edgeguard.Event) {
				for i := range events {
					if test.verified && events[i].Verified != events[i].Kind || !test.verified && events[i].Verified != 0 {
						wrong.Add(1)
					}
				}
				h.decide(now, events)
			}}, Address: test.address, From: test.from})
			c := dial(t, "udp4", fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.UDPAddr).Port))
			send(t, c, numbered(9)) // without a header
			send(t, c, "<134>1 2026-11-23T03:00:00Z web1 nginx 7 - - "+strings.TrimSuffix(numbered(0), "\n"))
			send(t, c, syslogHeader+numbered(1)+"\x00")
			send(t, c, syslogHeader+numbered(2)+numbered(8))
			send(t, c, syslogHeader+"\x00\x00nonsense")
			program.Eventually(t, "all datagrams", func() bool {
				once, _ := h.of(10)
				s := l.Stats()
				return once == 3 && s.Lines == 4 && s.Foreign == 1
			})
			if _, twice := h.of(10); twice != 0 || wrong.Load() != 0 {
				t.Errorf("%d lines twice, %d with the wrong evidence", twice, wrong.Load())
			}
			if s := l.Stats(); s.Datagrams != 4 || s.Skipped != 1 || s.Buffer == 0 || s.Dropped != 0 || s.Full != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The kernel's count of dropped datagrams is of 32 bits; the figure is not.
func TestDropsAreAddedUp(t *testing.T) {
	l, err := Listen(ListenConfig{Live: Live{Now: time.Now, Decide: (&heard{}).decide}, Address: "udp:127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, kernel := range []uint32{0, 5, 5, 1<<32 - 1, 3} {
		l.note(&datagramBatch{Count: 1, Dropped: kernel}, 0)
	}
	if s := l.Stats(); s.Dropped != 1<<32+3 || s.Datagrams != 5 {
		t.Errorf("%d dropped, %d datagrams", s.Dropped, s.Datagrams)
	}
}

// TestNginxUDP receives the log of a real nginx by UDP.
func TestNginxUDP(t *testing.T) {
	l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("combined")}, Address: "udp:127.0.0.1:0"})
	s := nginx(t, t.TempDir(), "'$remote_addr'", fmt.Sprintf("syslog:server=%s,tag=eg combined", l.Addr()))
	s.paced(l.heard, 300)
	if st := l.Stats(); st.Datagrams != 300 || st.Skipped+st.Foreign+st.Dropped != 0 || st.Err != nil {
		t.Errorf("%+v", st)
	}
}

// TestHAProxyUDP receives the log of a real HAProxy by UDP, with both headers of
// syslog.
func TestHAProxyUDP(t *testing.T) {
	for _, header := range []string{"rfc3164", "rfc5424"} {
		t.Run(header, func(t *testing.T) {
			l := listen(t, &heard{}, ListenConfig{Live: Live{Format: format("haproxy"), Zone: time.Local}, Address: "udp:127.0.0.1:0"})
			folder, port := t.TempDir(), program.Port(t)
			name := filepath.Join(folder, "haproxy.cfg")
			config := fmt.Sprintf(`global
	log %s len 65535 format %s local0 info
defaults
	mode http
	log global
	option httplog
	timeout client 5s
	timeout server 5s
	timeout connect 5s
frontend f
	bind 127.0.0.1:%d
	http-request return status 200
`, l.Addr(), header, port)
			if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, port, folder, "haproxy", "-db", "-f", name)
			s.paced(l.heard, 300)
			if st := l.Stats(); st.Foreign+st.Dropped != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
