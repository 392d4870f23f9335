package logline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/realdata"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// A client writes whatever it likes into its requests; how a server writes that
// into its log is told by package loglinetest. Whatever the client sent,
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
		"message repeated 900 times: [ ", "last message repeated 900 times", "Suppressed 900 messages from x", "x last message repeated 900 times", "]",
		"Last message '" + victim, "' repeated 900 times, suppressed by syslog-ng on web1",
	}
)

func hostileText(rng *rand.Rand) string {
	var s strings.Builder
	for range rng.IntN(6) {
		s.WriteString(hostile[rng.IntN(len(hostile))])
	}
	return s.String()
}

func csvEscaped(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// TestInjection generates 10,000 lines for each format. In those where every
// client's field is bounded by what it cannot write, each line is counted for
// the address that was there; in the others a line may be refused as readable
// in two ways, but never be another's.
func TestInjection(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for _, e := range loglinetest.Examples {
		t.Run(e.Name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, e.Format, ""), name: "log"}
			l.Parse(&Chunk{Text: []byte(e.Head)})
			injected(t, seed, &l, !e.Doubtful, func(addr string, text func() string) string { return e.Hostile(addr, 45, text) })
		})
	}
	for _, test := range []struct {
		name, format, head string
		sure               bool
		line               func(addr string, text func() string) string
	}{
		{"combined, Apache", "combined", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, loglinetest.ApacheEscaped(text()+"u"), loglinetest.ApacheEscaped(text()), loglinetest.ApacheEscaped(text()), loglinetest.ApacheEscaped(text()))
		}},
		{"combined, nginx", "combined", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, loglinetest.NginxEscaped(text()+"u"), loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"user before address", `$remote_user $remote_addr [$time_local] "$request" $status "$http_user_agent"`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s %s [20/Feb/2016:00:00:45 -0500] "%s" 200 "%s"`, loglinetest.NginxEscaped(text()), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"tabs", "$http_host\t$remote_addr\t$msec\t$request\t$status", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("%s\t%s\t1455944445.000\t%s\t200", loglinetest.NginxEscaped(text()), addr, loglinetest.NginxEscaped(text()))
		}},
		{"haproxy's log-format", `%hr %ci:%cp [%t] %HM %HP %HV %ST "%r" %hs`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`{%s|%s} %s:4711 [20/Feb/2016:05:00:45.000] GET /%s HTTP/1.1 200 "%s" {%s}`, loglinetest.HAProxyEscaped(text()), loglinetest.HAProxyEscaped(text()), addr,
				strings.ReplaceAll(loglinetest.HAProxyEscaped(text()), " ", ""), loglinetest.HAProxyEscaped(text()), loglinetest.HAProxyEscaped(text()))
		}},
		{"haproxy's log-format, expressions", `%ci:%cp [%t] %HM %HP %ST "%r" %hr "%[req.hdr(x)]" %CC`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s:4711 [20/Feb/2016:05:00:45.000] GET /%s 200 "%s" {%s} "%s" %s`, addr, strings.ReplaceAll(loglinetest.HAProxyEscaped(text()), " ", ""),
				loglinetest.HAProxyEscaped(text()), loglinetest.HAProxyEscaped(text()), strings.ReplaceAll(text(), "\n", ""), strings.ReplaceAll(text(), "\n", ""))
		}},
		{"host before address", `$host $remote_addr - $remote_user [$time_local] "$request" $status`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%sh %s - %su [20/Feb/2016:00:00:45 -0500] "%s" 200`, loglinetest.NginxEscaped(strings.ReplaceAll(text(), " ", "")), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"vhost_combined, no port", "vhost_combined", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`example.org %s - %su [20/Feb/2016:00:00:45 -0500] "%s" 200 1 "-" "%s"`, addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"a host that clients write first", `$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%sh %s - %su [20/Feb/2016:00:00:45 -0500] "%s" 401`, loglinetest.NginxEscaped(strings.ReplaceAll(text(), " ", "")), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"a host that is refused", `$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s h %s - %su [20/Feb/2016:00:00:45 -0500] "%s" 400`, loglinetest.NginxEscaped(text()), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"address between free fields", `$http_x $remote_addr - $remote_user [$time_local] "$request" $status`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s %s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200`, loglinetest.NginxEscaped(text()), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"all free", `$http_x|$remote_addr|$http_y|$msec|$http_z`, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s|%s|%s|1455944445.000|%s`, loglinetest.NginxEscaped(text()), addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"json", "json", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`{"ua":"%s","remote_addr":"%s","ts":1455944445,"u":"%s","x":{"ip":"%s"},"m":"GET"}`, loglinetest.JSONEscaped(text()), addr, loglinetest.JSONEscaped(text()), loglinetest.JSONEscaped(text()))
		}},
		{"docker, nginx inside", "docker:combined", "", true, func(addr string, text func() string) string {
			return inDocker(fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:45 -0500] "%s" 200 5 "%s" "%s"`, addr, loglinetest.NginxEscaped(text()+"u"), loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))+"\n", "stdout")
		}},
		{"journald, JSON inside", "journald:json", "", true, func(addr string, text func() string) string {
			return inJournal(fmt.Sprintf(`{"ua":"%s","remote_addr":"%s","ts":1455944445,"u":"%s","log":"%s"}`, loglinetest.JSONEscaped(text()), addr, loglinetest.JSONEscaped(text()), loglinetest.JSONEscaped(text())), "1", "")
		}},
		{"haproxy", "haproxy", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`%s:80 [20/Feb/2016:00:00:45.000] f b/s 0/0/0/0/0 200 5 - - ---- 0/0/0/0/0 0/0 {%s} "%s"`, addr, loglinetest.HAProxyEscaped(text()), loglinetest.HAProxyEscaped(text()))
		}},
		{"iis", "w3c:" + iisFields, "", true, func(addr string, text func() string) string {
			plus := strings.NewReplacer(" ", "+", "\t", "+", "\n", "", "\r", "", "\x00", "")
			return fmt.Sprintf("2016-02-20 00:00:45 10.0.0.4 GET /%s %sx 443 - %s %sx - 404 0 2 46", plus.Replace(text()), plus.Replace(text()), addr, plus.Replace(text()))
		}},
		{"iis, a server that lets blanks through", "w3c:" + iisFields, "", false, func(addr string, text func() string) string {
			return fmt.Sprintf("2016-02-20 00:00:45 10.0.0.4 GET /%s %sx 443 - %s %sx - 404 0 2 46", loglinetest.RawTarget(text()), loglinetest.RawTarget(text()), addr, loglinetest.RawHeader(text()))
		}},
		{"json paths", "json:addr=source.ip,time=@timestamp,path=url.original,user_agent=h.ua", "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`{"h":{"ua":"%s","%s":"%s"},"source":{"ip":"%s"},"@timestamp":1455944445,"url.original":"%s","x":{"source":{"ip":"%s"}}}`,
				loglinetest.JSONEscaped(text()), loglinetest.JSONEscaped("x-"+text()), loglinetest.JSONEscaped(text()), addr, loglinetest.JSONEscaped(text()), loglinetest.JSONEscaped(text()))
		}},
		{"regex, from the front", `regex:^(?P<time>\d+) \[client (?P<addr>[^\]]+)\] user (?P<agent>.*) not found: (?P<path>.*)$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("1455944445 [client %s] user %s not found: %s", addr, loglinetest.NginxEscaped(text()), loglinetest.NginxEscaped(text()))
		}},
		{"regex, from the back", `regex:{sshd}(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+(?: ssh2)?$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf("2016-02-20T00:00:45-05:00 web-1 sshd[1]: Failed password for %s from %s port 7 ssh2", loglinetest.NginxEscaped(text()), addr)
		}},
		{"regex, between fields", `regex:^"(?P<agent>[^"]*)" [^ ]* (?P<addr>[^ ]+) (?P<time>\d+) (?P<path>.*)$`, "", true, func(addr string, text func() string) string {
			return fmt.Sprintf(`"%s" %s %s 1455944445 %s`, loglinetest.NginxEscaped(text()), strings.ReplaceAll(loglinetest.NginxEscaped(text()), " ", "+"), addr, loglinetest.NginxEscaped(text()))
		}},
		{"csv", "csv:time=t,addr=a,path=p", "t,x,a,p", false, func(addr string, text func() string) string {
			return fmt.Sprintf(`2016-02-20 00:00:45,%s,%s,%s`, csvEscaped(text()), addr, csvEscaped(text()))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, test.format, test.head), name: "log"}
			injected(t, seed, &l, test.sure, test.line)
		})
	}
}

// injected parses 10,000 lines that write makes of an address and of what clients
// send, some of them behind what carries lines.
func injected(t *testing.T, seed uint64, l *Parser, sure bool, write func(addr string, text func() string) string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	behind := []string{""}
	if _, header := l.parser.(scan.Header); !header { // such a file is not sent line by line
		behind = append(behind, "<30>Feb 20 00:00:46 web1 sshd[7]: ", "<30>1 2016-02-20T00:00:46Z web1 sshd 7 - - \uFEFF", "2016-02-20T00:00:46.000000000Z stdout F ", "web-1  | ")
	}
	counted, twice := 0, 0
	for range 10_000 {
		addr := netip.AddrFrom4([4]byte{192, 0, 2, byte(rng.IntN(256))})
		line := write(addr.String(), func() string { return hostileText(rng) })
		if scan.SyslogPrefix([]byte(line)) == 0 {
			line = behind[rng.IntN(len(behind))] + line
		}
		p := &Chunk{Text: []byte(line + "\n"), Origin: l}
		l.Parse(p)
		for _, ev := range p.Events {
			if len(p.Events) > 1 || ev.Hits > 1 || ev.Addr != addr || ev.Time.Unix()%86400 != 45 && ev.Time.Unix() != 1455944445 && ev.Time.Unix()%86400 != 18045 {
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
				if sure {
					t.Fatalf("seed %d: %s", seed, s)
				}
			}
		}
	}
	if sure && counted != 10_000 || counted < 3000 {
		t.Errorf("seed %d: %d of 10,000 lines counted", seed, counted)
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
