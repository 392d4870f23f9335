package logline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/realdata"
	"edgeguard/logline/scan"
)

// A client writes whatever it likes into its requests; how a server writes that
// into its log is told by the four functions below. Whatever the client sent,
// the event must be of the address that the server saw, and none other.

const victim = "9.9.9.9"

var (
	// hostile are pieces of what a client may send.
	hostile = []string{
		victim, " - - ", " [20/Feb/2016:00:00:45 -0500] ", `"`, `\`, `\"`, `" 200 1 "-" "-"`, "\n", "\r", "\r\n", "\x00", "\t",
		"\x1b[31m", "\xff\xfe", "é", "]", "[", "GET / HTTP/1.1", " ", "  ", "-", "{", "}", `{"remote_addr":"` + victim + `","ts":1455944445}`,
		`","remote_addr":"` + victim, `x","client_ip":"` + victim + `"`, ",", ",,", `""`, `","`, "|", ":", ";", "#22", "\\x22", "200", "<190>",
		"Nov 21 09:54:00 web1 nginx: " + victim + " - - ", victim + ` - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`,
		"2016-02-20 00:00:45," + victim + ",x,y", "\n2016-02-20 00:00:45," + victim + ",x,y\n", "::ffff:" + victim, victim + ":80", "", "X-Forwarded-For: " + victim,
	}
)

func hostileText(rng *rand.Rand) string {
	var s strings.Builder
	for range rng.IntN(6) {
		s.WriteString(hostile[rng.IntN(len(hostile))])
	}
	return s.String()
}

// apacheEscaped is ap_escape_logitem of Apache's server/util.c.
func apacheEscaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case strings.IndexByte("\b\n\r\t\v", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte("bntvfr"[strings.IndexByte("\b\n\t\v\f\r", c)])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// nginxEscaped is ngx_http_log_escape of nginx's ngx_http_log_module.c.
func nginxEscaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '"' || c == '\\' || c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "\\x%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// haproxyEscaped is lf_encode_chunk of HAProxy's src/log.c with its url map.
func haproxyEscaped(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '"' || c == '#' || c < ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "#%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func jsonEscaped(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

// rawHeader is a header's value as it goes through servers that escape nothing: any
// byte but a line's end or NUL (RFC 9110, 5.5).
func rawHeader(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == 0 {
			return -1
		}
		return r
	}, s)
}

// rawTarget is a request's target of such a server: it ends at a blank.
func rawTarget(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, s)
}

func csvEscaped(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// TestInjection generates 10,000 lines for each format. In those where every
// client's field is bounded by what it cannot write, each line is counted for
// the address that was there; in the others a line may be refused as readable
// in two ways, but never be another's.
func TestInjection(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for _, test := range []struct {
		name, format, head string
		sure               bool
		line               func(addr string, text func() string) string
	}{
		{"combined, Apache", "combined", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, apacheEscaped(text()+"u"), apacheEscaped(text()), apacheEscaped(text()), apacheEscaped(text()))
		}},
		{"combined, nginx", "combined", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, nginxEscaped(text()+"u"), nginxEscaped(text()), nginxEscaped(text()), nginxEscaped(text()))
		}},
		{"user before address", `$remote_user $remote_addr [$time_local] "$request" $status "$http_user_agent"`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s %s [20/Feb/2016:00:00:45 -0500] "%s" 200 "%s"`, nginxEscaped(text()), addr, nginxEscaped(text()), nginxEscaped(text()))
		}},
		{"tabs", "$http_host\t$remote_addr\t$msec\t$request\t$status", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("%s\t%s\t1455944445.000\t%s\t200", nginxEscaped(text()), addr, nginxEscaped(text()))
		}},
		{"address between free fields", `$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s %s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200`, nginxEscaped(text()), addr, nginxEscaped(text()), nginxEscaped(text()))
		}},
		{"all free", `$http_x|$remote_addr|$http_y|$msec|$http_z`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s|%s|%s|1455944445.000|%s`, nginxEscaped(text()), addr, nginxEscaped(text()), nginxEscaped(text()))
		}},
		{"json", "json", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`{"ua":"%s","remote_addr":"%s","ts":1455944445,"u":"%s","x":{"ip":"%s"},"m":"GET"}`, jsonEscaped(text()), addr, jsonEscaped(text()), jsonEscaped(text()))
		}},
		{"waf", "json", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`{"timestamp":1455944445000,"httpRequest":{"clientIp":"%s","headers":[{"name":"%s","value":"%s"},{"name":"User-Agent","value":"%s"}],"uri":"/%s","args":"%s","httpMethod":"GET"}}`,
				addr, jsonEscaped(text()), jsonEscaped(text()), jsonEscaped(text()), jsonEscaped(text()), jsonEscaped(text()))
		}},
		{"docker, nginx inside", "docker:combined", "", true, func(addr string, text func() string) string {
			return inDocker(fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, nginxEscaped(text()+"u"), nginxEscaped(text()), nginxEscaped(text()), nginxEscaped(text()))+"\n", "stdout")
		}},
		{"journald, JSON inside", "journald:json", "", true, func(addr string, text func() string) string {
			return inJournal(fmt.Sprintf(`{"ua":"%s","remote_addr":"%s","ts":1455944445,"u":"%s","log":"%s"}`, jsonEscaped(text()), addr, jsonEscaped(text()), jsonEscaped(text())), "1", "")
		}},
		{"haproxy", "haproxy", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s:80 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 {%s} "%s"`, addr, haproxyEscaped(text()), haproxyEscaped(text()))
		}},
		{"alb", "alb", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`https 2016-02-20T00:00:45.000000Z app/lb/1 %s:80 10.0.0.1:80 0.0 0.0 0.0 200 200 1 1 "GET http://%s:80/%s HTTP/1.1" "%s" - - arn "Root=1" "%s" "-" 0 2016-02-20T00:00:45Z "-"`,
				addr, rawTarget(text()), rawTarget(text()), rawHeader(text()), rawHeader(text()))
		}},
		{"cloudfront", "w3c:date time x-edge-location c-ip cs-method cs-uri-stem sc-status cs(User-Agent) cs-uri-query x-host-header", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("2016-02-20\t00:00:45\tLAX1\t%s\tGET\t/%s\t200\t%s\t%s\t%s", addr, url.PathEscape(text()), url.PathEscape(text()), url.PathEscape(text()), url.PathEscape(text()))
		}},
		{"iis", "w3c:" + iisFields, "", true, func(addr string, text func() string) string {
			plus := strings.NewReplacer(" ", "+", "\t", "+", "\n", "", "\r", "", "\x00", "")
			return fmt.Sprintf("2016-02-20 00:00:45 10.0.0.4 GET /%s %sx 443 - %s %sx - 404 0 2 46", plus.Replace(text()), plus.Replace(text()), addr, plus.Replace(text()))
		}},
		{"iis, a server that lets blanks through", "w3c:" + iisFields, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf("2016-02-20 00:00:45 10.0.0.4 GET /%s %sx 443 - %s %sx - 404 0 2 46", rawTarget(text()), rawTarget(text()), addr, rawHeader(text()))
		}},
		{"envoy", "envoy", "", false, func(addr string, text func() string) string {
			list := rawHeader(text())
			if list != "" {
				list += ","
			}
			return fmt.Sprintf(`[2016-02-20T00:00:45.000Z] "GET /%s HTTP/1.1" 200 - 0 0 1 1 "%s%s" "%s" "id" "h" "10.0.0.1:80"`, rawTarget(text()), list, addr, rawHeader(text()))
		}},
		{"squid", "squid", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`1455944445.000     12 %s TCP_DENIED/403 411 GET http://%s %s HIER_NONE/- text/html`, addr, rawTarget(text()), rawTarget(text()))
		}},
		{"json paths", "json:addr=source.ip,time=@timestamp,path=url.original,user_agent=h.ua", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`{"h":{"ua":"%s","%s":"%s"},"source":{"ip":"%s"},"@timestamp":1455944445,"url.original":"%s","x":{"source":{"ip":"%s"}}}`,
				jsonEscaped(text()), jsonEscaped("x-"+text()), jsonEscaped(text()), addr, jsonEscaped(text()), jsonEscaped(text()))
		}},
		{"regex, from the front", `regex:^(?P<time>\d+) \[client (?P<addr>[^\]]+)\] user (?P<agent>.*) not found: (?P<path>.*)$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("1455944445 [client %s] user %s not found: %s", addr, nginxEscaped(text()), nginxEscaped(text()))
		}},
		{"regex, from the back", `regex:{sshd}(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("2016-02-20T00:00:45-05:00 web-1 sshd[1]: Failed password for %s from %s port 7 ssh2", nginxEscaped(text()), addr)
		}},
		{"regex, between fields", `regex:^"(?P<agent>[^"]*)" [^ ]* (?P<addr>[^ ]+) (?P<time>\d+) (?P<path>.*)$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`"%s" %s %s 1455944445 %s`, nginxEscaped(text()), strings.ReplaceAll(nginxEscaped(text()), " ", "+"), addr, nginxEscaped(text()))
		}},
		{"csv", "csv:time=t,addr=a,path=p", "t,x,a,p", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`2016-02-20 00:00:45,%s,%s,%s`, csvEscaped(text()), addr, csvEscaped(text()))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			l := Parser{parser: parserOf(t, test.format, test.head), name: "log"}
			counted, twice := 0, 0
			for range 10_000 {
				addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(rng.IntN(256))})
				line := test.line(addr.String(), func() string { return hostileText(rng) })
				p := &Chunk{Text: []byte(line + "\n")}
				l.Parse(p)
				for _, ev := range p.Events {
					if ev.Addr != addr || ev.Time.Unix()%86400 != 45 && ev.Time.Unix() != 1455944445 && ev.Time.Unix()%86400 != 18045 {
						t.Fatalf("seed %d: event of %v at %v from\n%s", seed, ev.Addr, ev.Time, line)
					}
					counted++
				}
				for _, s := range p.Shown {
					switch scan.Reason(s.Reason) {
					case "can be read in two ways: put quotes around the fields that clients write":
						twice++
					case scan.CutShort: // HAProxy's request without a version
					default:
						if test.sure {
							t.Fatalf("seed %d: %s", seed, s)
						}
					}
				}
			}
			if test.sure && counted != 10_000 || counted < 3000 {
				t.Errorf("seed %d: %d of 10,000 lines counted", seed, counted)
			}
		})
	}
}

// TestFail2banLabels reads fail2ban's own test logs, as far as they are access
// logs: each line that is read is of the host in the label before it.
func TestFail2banLabels(t *testing.T) {
	for _, test := range []struct {
		file, format   string
		read, mismatch int // a label without a host says nothing
	}{
		{"apache-fakegooglebot", "vhost_combined", 1, 0},
		{"apache-pass", "combined", 1, 0},
		{"nginx-bad-request", "combined", 8, 0},
		{"nginx-botsearch", "combined", 8, 0},
		{"php-url-fopen", "combined", 1, 0},
		{"traefik-auth", "combined", 6, 0},
		{"haproxy-http-auth", "haproxy", 4, 0},
	} {
		t.Run(test.file, func(t *testing.T) {
			f, err := os.Open(realdata.Path(t, "tests-fail2ban", test.file))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p := parserOf(t, test.format, "")
			label := struct{ Host string }{}
			read, mismatch := 0, 0
			for lines := bufio.NewScanner(f); lines.Scan(); {
				line := lines.Text()
				if after, ok := strings.CutPrefix(line, "# failJSON:"); ok {
					label.Host = ""
					if err := json.Unmarshal([]byte(after), &label); err != nil {
						t.Fatal(err)
					}
					continue
				}
				var ev edgeguard.Event
				if p.Parse([]byte(line), &ev) != "" {
					continue
				}
				read++
				if label.Host != "" && ev.Addr.String() != label.Host {
					mismatch++
					t.Errorf("%v, label %s: %s", ev.Addr, label.Host, line)
				}
			}
			if read != test.read || mismatch != test.mismatch {
				t.Errorf("%d lines read, %d mismatches; want %d, %d", read, mismatch, test.read, test.mismatch)
			}
		})
	}
}
