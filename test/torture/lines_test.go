package torture

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// victim is who an attacker would like to see counted.
const victim = "198.51.100.9"

// hostile are pieces of what a client may send.
var hostile = []string{
	victim, "::ffff:" + victim, victim + ":80", "[2001:db8:bad::1]", " - - ", `"`, `\`, `\"`, `" 200 1 "-" "-"`, "\n", "\r\n", "\x00", "\t", "\x1b[31m", "\xff\xfe",
	"é", "]", "[", "{", "}", ",", ":", " ", "GET / HTTP/1.1", "<190>", "Nov 21 09:54:00 web1 nginx: " + victim + " - - ",
	victim + ` - - [20/Feb/2026:00:00:45 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`, "\n" + victim + ` - - [20/Feb/2026:00:00:45 +0000] "GET / HTTP/1.1" 200 1 "-" "-"` + "\n",
	`{"remote_addr":"` + victim + `","ts":1455944445}`, `","remote_addr":"` + victim, `"}},"request":{"client_ip":"` + victim + `"`, "X-Forwarded-For: " + victim,
}

func hostileText(rng *rand.Rand) string {
	var s strings.Builder
	for range rng.IntN(5) {
		s.WriteString(hostile[rng.IntN(len(hostile))])
	}
	return s.String()
}

// nginxLine is a message of nginx's syslog, escaped as nginx does
// (ngx_http_log_escape).
func nginxLine(now time.Time, client string, text func() string) string {
	escaped := func() string {
		var b strings.Builder
		for _, c := range []byte(text()) {
			if c == '"' || c == '\\' || c < ' ' || c >= 0x7f {
				fmt.Fprintf(&b, "\\x%02X", c)
			} else {
				b.WriteByte(c)
			}
		}
		return b.String()
	}
	return fmt.Sprintf(`<190>%s web1 nginx: %s - u%s [%s] "%s" 404 5 "%s" "%s"`, now.Format(time.Stamp), client, escaped(),
		now.Format("02/Jan/2006:15:04:05 -0700"), escaped(), escaped(), escaped())
}

// caddyLine is a line of Caddy's access log.
func caddyLine(now time.Time, client string, text func() string) string {
	type request struct {
		RemoteIP string              `json:"remote_ip"`
		ClientIP string              `json:"client_ip"`
		Method   string              `json:"method"`
		Host     string              `json:"host"`
		URI      string              `json:"uri"`
		Headers  map[string][]string `json:"headers"`
	}
	line, err := json.Marshal(struct {
		Level   string  `json:"level"`
		TS      float64 `json:"ts"`
		Logger  string  `json:"logger"`
		Request request `json:"request"`
		User    string  `json:"user_id"`
		Status  int     `json:"status"`
	}{"info", float64(now.UnixMilli()) / 1000, "http.log.access", request{client, client, text(), text(), text(),
		map[string][]string{"User-Agent": {text()}, "Referer": {text(), text()}, "X-Forwarded-For": {victim}, "Remote_addr": {victim}, text(): {text()}}}, text(), 404})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(line)
}

// Fault 12: clients write other people's addresses into every field that is
// theirs. Each line counts for the client whom the server saw, and none for
// anybody else.
func TestHostileLines(t *testing.T) {
	address := program.Address(t)
	n := newNode(t, `
node: test
state: $DIR/state
listen: {auth: [{address: "unix:$DIR/auth.sock", emit: nothing}], admin: ["unix:$DIR/admin.sock"]}
sensors:
  accesslog:
    - {listen: "unixgram:$DIR/log.sock", format: combined}
    - {listen: "tcp:`+address+`", format: json}
rules:
  - {name: site, threshold: 60000, guard: 1, window: 1h}
  - {name: missing, match: {status: 404}, threshold: 60000, guard: 1, window: 1h}
`)
	n.start()
	rng := newRand(t)
	clients := make([]netip.Addr, 500)
	for i := range clients {
		clients[i] = netip.AddrFrom4([4]byte{203, 0, 113, byte(i / 2)})
		if i%2 == 1 {
			clients[i] = netip.MustParseAddr(fmt.Sprintf("2001:db8:a:%x::1", i))
		}
	}
	sent := make([]int, len(clients))
	each := size(5000, 1_000_000)
	send := func(conn net.Conn, end string, line func(time.Time, string, func() string) string) {
		t.Helper()
		for k := range each {
			i := k // each sends something
			if k >= len(clients) {
				i = rng.IntN(len(clients))
			}
			text := line(time.Now(), clients[i].String(), func() string { return hostileText(rng) })
			if _, err := conn.Write([]byte(text + end)); err != nil {
				t.Fatal(err)
			}
			sent[i]++
		}
	}
	send(n.dial("unixgram", n.Path("log.sock")), "", nginxLine)
	send(n.dial("tcp", address), "\n", caddyLine)

	lines := func() (parsed, skipped uint64) {
		for _, l := range n.status().Logs {
			parsed, skipped = parsed+l.Parsed, skipped+l.Skipped
		}
		return parsed, skipped
	}
	n.Until("all lines were read", func() bool { p, s := lines(); return p+s >= uint64(2*each) })
	if parsed, skipped := lines(); skipped != 0 || parsed != uint64(2*each) {
		t.Errorf("%d lines parsed and %d skipped; want all %d parsed", parsed, skipped, 2*each)
	}
	n.Until("all are counted", func() bool { return n.status().Events.Decided >= uint64(2*each) })
	for i, client := range clients {
		if counted := n.count(client); counted != sent[i] {
			t.Errorf("%v: %d lines, %d counted", client, sent[i], counted)
		}
	}
	// One key for each client and rule, the two /56 and the /48 around those of
	// IPv6, and so none for anybody else.
	if keys, want := n.status().Tables.Keys, 2*(len(clients)+3); keys != want {
		t.Errorf("%d keys of 2 rules, want %d", keys, want)
	}
	for _, other := range []string{victim, "2001:db8:bad::1"} {
		if counted := n.count(netip.MustParseAddr(other)); counted != 0 {
			t.Errorf("%s: %d counted, and it sent nothing", other, counted)
		}
	}
}
