package logline

import (
	"testing"

	"edgeguard"
	"edgeguard/logline/scan"
)

// Formats with the fields say which page made a browser ask. Without one it is known
// that there was none; without the field nothing is known.
func TestPage(t *testing.T) {
	const sites = `$remote_addr [$time_local] "$request" $status "$http_referer" "$http_sec_fetch_site"`
	const both, ref = edgeguard.FieldReferer | edgeguard.FieldFetchSite, edgeguard.FieldReferer
	for _, c := range []struct {
		name, format, head, line string
		known                    edgeguard.Field
		referer, site            string
	}{
		{"combined", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 1 "https://a.example/x?\x22y" "z"`, ref, `https://a.example/x?"y`, ""},
		{"combined, none", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 1 "-" "z"`, ref, "", ""},
		{"combined, cut in the referer", "combined", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 1 "https://a.exa`, 0, "", ""},
		{"common", "common", "", `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 1`, 0, "", ""},
		{"nginx", sites, "", `192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 "https://a.example/" "cross-site"`, both, "https://a.example/", "cross-site"},
		{"nginx, none", sites, "", `192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 "-" "-"`, both, "", ""},
		{"apache", `%h %t "%r" %>s "%{referer}i" "%{Sec-Fetch-Site}i"`, "", `192.0.2.1 [20/Feb/2016:00:00:45 +0000] "GET /a HTTP/1.1" 404 "https://a.example/" "same-origin"`, both, "https://a.example/", "same-origin"},
		{"json", "json", "", `{"remote_addr":"192.0.2.1","time_iso8601":"2016-02-20T05:00:45Z","http_referer":"https://a.example/","http_sec_fetch_site":"cross-site"}`, both, "https://a.example/", "cross-site"},
		{"json, without", "json", "", `{"remote_addr":"192.0.2.1","time_iso8601":"2016-02-20T05:00:45Z"}`, 0, "", ""},
		{"json, traefik", "json", "", `{"ClientAddr":"192.0.2.1:5","StartUTC":"2016-02-20T05:00:45Z","request_Referer":"https://a.example/"}`, ref, "https://a.example/", ""},
		{"json, caddy", "json", "", `{"ts":1455944445.5,"request":{"remote_ip":"192.0.2.1","uri":"/","headers":{"Referer":["https://a.example/"],"Sec-Fetch-Site":["none"]}},"status":404}`, both, "https://a.example/", "none"},
		{"haproxy", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 edgeguard{h|https://a.example/x?#22y|z} "GET /a HTTP/1.1"`, ref, `https://a.example/x?"y`, ""},
		{"haproxy, none", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 edgeguard{h||z} "GET /a HTTP/1.1"`, ref, "", ""},
		{"haproxy, not captured", "haproxy", "", `192.0.2.1:58444 [14/Nov/2015:22:45:25.439] m a/b 0/0/1/0/1 200 5 - - ---- 3/3/0/0/0 0/0 {h||z} "GET /a HTTP/1.1"`, 0, "", ""},
		{"csv", "csv:time=t,addr=a,referer=r,fetch_site=s", "t,a,r,s", `2016-02-20T05:00:45Z,192.0.2.1,https://a.example/,same-site`, both, "https://a.example/", "same-site"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ev edgeguard.Event
			why := parserOf(t, c.format, c.head).Parse([]byte(c.line), &ev)
			if why != scan.Read && why != scan.CutShort {
				t.Fatal(why)
			}
			if ev.Known&both != c.known || ev.Referer != c.referer || ev.FetchSite != c.site {
				t.Errorf("%v %q %q", ev.Known&both, ev.Referer, ev.FetchSite)
			}
		})
	}
}
