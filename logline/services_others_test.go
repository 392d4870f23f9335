package logline

import (
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
	for _, name := range []string{"gitlab", "odoo", "paperless", "qbittorrent", "uptime-kuma", "vaultwarden", "calibre-web", "gin", "nginx-error",
		"guacamole", "fireflyiii", "jellyfin", "servarr"} {
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
	"gitlab", "odoo", "paperless", "qbittorrent", "uptime-kuma", "vaultwarden", "calibre-web", "gin", "nginx-error",
	"guacamole", "fireflyiii", "jellyfin", "servarr",
	"gitea", "samba", "postgresql", "redmine", "cpanel", "harbor", "zimbra", "ejabberd",
	"cas", "groupoffice", "horde", "lighttpd", "mssql", "mysqld", "pterodactyl", "technitium", "tine20",
}
