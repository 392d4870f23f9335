package logline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// otherLines are lines that services write beside those that are read, each with what
// a client can put into it so that it looks like one of those.
var otherLines = map[string][]string{
	"vsftpd": {
		`Sun Nov 22 10:00:00 2026 [pid 17] [ftp] OK LOGIN: Client "192.0.2.1", anon password "x] FAIL LOGIN: Client "9.9.9.9"`,
		`Sun Nov 22 10:00:00 2026 [pid 17] [bob] FTP command: Client "192.0.2.1", "STAT x] FAIL LOGIN: Client "9.9.9.9"`,
		`Sun Nov 22 10:00:00 2026 [pid 17] [bob] OK DELETE: Client "192.0.2.1", "/x] FAIL LOGIN: Client "9.9.9.9"`,
	},
	"nginx-error": {
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=192.0.2.1&server=h&uri=/&learning=0&vers=0.52&total_processed=4&total_blocked=2&block=0&cscore0=$UWA&score0=8, client: 192.0.2.1, server: h`,
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=192.0.2.1&server=h&uri=/&learning=1&vers=0.52&total_processed=4&total_blocked=2&block=1&cscore0=$UWA&score0=8, client: 192.0.2.1, server: h`,
		`2026/11/22 10:00:00 [error] 17#0: *7 NAXSI_FMT: ip=192.0.2.1&server=h&uri=/&vers=1.6&total_processed=4&total_blocked=2&config=learning&cscore0=$UWA&score0=8, client: 192.0.2.1, server: h`,
	},
	// Before it said "from ip", the second word was all that it wrote: the Host.
	"adguardhome": {"2026/11/22 10:00:00.233208 [error] POST 9.9.9.9 /control/login: invalid username or password"},
}

func TestOtherLines(t *testing.T) {
	for name, lines := range otherLines {
		p := parserOf(t, name, "")
		for _, line := range lines {
			var ev edgeguard.Event
			if p.Parse([]byte(line), &ev) == scan.Read {
				t.Errorf("%s: %v is counted for %s", name, ev.Addr, line)
			}
		}
	}
}

// TestLineBreaks: these services write a name as it was sent, with its line breaks, or
// believe a header. So a client can write whole lines, and these prove nothing.
func TestLineBreaks(t *testing.T) {
	for _, name := range []string{"gitlab", "odoo", "paperless", "qbittorrent", "uptime-kuma", "vaultwarden", "calibre-web", "gin", "rails", "nginx-error",
		"guacamole", "fireflyiii", "jellyfin", "servarr", "sogo", "roundcube", "meshcentral"} {
		p := parserOf(t, name, "")
		p.(scan.Dated).SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		line := serviceLines[name][0]
		forged := strings.NewReplacer("ADDR", "9.9.9.9", "USER", "x").Replace(line)
		found := false
		for text := range strings.SplitSeq(strings.NewReplacer("ADDR", "192.0.2.1", "USER", "x\n"+forged+"\n").Replace(line), "\n") {
			var ev edgeguard.Event
			if p.Parse([]byte(text), &ev) != scan.Read || ev.Addr.String() != "9.9.9.9" {
				continue
			}
			if found = true; ev.Verified != 0 {
				t.Errorf("%s: a line that a client wrote counts as evidence", name)
			}
		}
		if !found {
			t.Errorf("%s: the forged line is not read", name)
		}
	}
}

// forgeableServices are those whose lines prove no address.
var forgeableServices = []string{
	"asterisk", "freeswitch", "openvpn", "named", "netfilter",
	"gitlab", "odoo", "paperless", "qbittorrent", "uptime-kuma", "vaultwarden", "calibre-web", "gin", "rails", "nginx-error",
	"guacamole", "fireflyiii", "jellyfin", "servarr",
	"xrdp", "scanlogd", "portsentry", "nsd", "murmur", "immich", "gitea", "samba", "postgresql", "redmine", "cpanel", "harbor", "zimbra", "ejabberd",
	"grafana", "miniflux", "authelia", "zoraxy", "sogo", "roundcube", "meshcentral", "slapd",
	"cas", "groupoffice", "horde", "lighttpd", "mssql", "mysqld", "pterodactyl", "technitium", "tine20",
}

// TestConnections: what a client did is counted for the address that opened the connection of
// that number, as the last line of it says, and for none where that is not known.
func TestConnections(t *testing.T) {
	const head, failed = "Nov 22 10:00:00 ldap slapd[17]: conn=", " op=1 RESULT tag=97 err=49 text="
	accept := func(conn int, addr string) string {
		return fmt.Sprint(head, conn, " fd=9 ACCEPT from IP=", addr, ":5 (IP=0.0.0.0:389)")
	}
	at := func(conn int) string { return fmt.Sprint(head, conn, failed) }
	var many, brief []string
	for i := range 5000 {
		many = append(many, accept(2000+i, "192.0.2.9"))
		brief = append(brief, accept(2000+i, "192.0.2.9"), fmt.Sprint(head, 2000+i, " fd=9 closed"))
	}
	for _, test := range []struct {
		name, want string
		lines      []string
	}{
		{"one", "192.0.2.1", []string{accept(7, "192.0.2.1"), at(7)}},
		{"interleaved", "192.0.2.2", []string{accept(7, "192.0.2.1"), accept(8, "192.0.2.2"), at(8)}},
		{"a number again, after a restart", "192.0.2.2", []string{accept(7, "192.0.2.1"), accept(7, "192.0.2.2"), at(7)}},
		{"closed", "", []string{accept(7, "192.0.2.1"), head + "7 fd=9 closed", at(7)}},
		{"not seen", "", []string{at(7)}},
		{"no address", "", []string{accept(7, "192.0.2.1"), head + "7 fd=9 ACCEPT from IP=:::: (IP=0.0.0.0:389)", at(7)}},
		{"before many that are closed", "192.0.2.1", append([]string{accept(7, "192.0.2.1")}, append(brief, at(7))...)},
		{"a socket of the host, after a restart", "", []string{accept(7, "192.0.2.1"), head + "7 fd=9 ACCEPT from PATH=/run/ldapi (PATH=/run/ldapi)", at(7)}},
		{"the last of many", "192.0.2.9", append([]string{accept(7, "192.0.2.1")}, append(many, at(6999))...)},
		{"a name", "192.0.2.1", []string{accept(7, "192.0.2.1"), head + `7 op=0 BIND dn="cn=x conn=7 fd=9 ACCEPT from IP=9.9.9.9:1 (" method=128`, at(7)}},
		{"a success", "", []string{accept(7, "192.0.2.1"), head + "7 op=1 RESULT tag=97 err=0 text="}},
		{"a number that is too long for one", "", []string{accept(7, "192.0.2.1"), head + "18446744073709551623" + failed}},
	} {
		p := parserOf(t, "slapd", "")
		p.(scan.Dated).SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		got := ""
		for _, line := range test.lines {
			var ev edgeguard.Event
			if got = ""; p.Parse([]byte(line), &ev) == scan.Read {
				got = ev.Addr.String()
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
