// Package loglinetest has lines of each log format that has a name.
package loglinetest

import (
	"fmt"
	"net/url"
	"strings"
)

// Example is a log of a server that writes one of the formats.
type Example struct {
	Name   string // of the log: the format's, or the server's where several write it
	Format string
	Auto   string // the format that auto takes it for, if not Format
	Head   string // what is before the lines, with its end

	// Line is a line as the maker's page has it, with all fields that the format can
	// supply, and Want is what it says: address, time, kinds, fields.
	Line, Want string

	// Hostile writes the line of a request by that address, which is answered with
	// 404, at that second after 2016-02-20T00:00:00Z. Whatever a client can write is
	// what text returns, escaped as the server escapes it.
	Hostile func(addr string, second int, text func() string) string
	// Doubtful says that the server escapes too little: some texts make a line that
	// can be read in two ways, and so is skipped.
	Doubtful bool
}

const rr = " request+response "

// Examples has at least one of each format.
var Examples = []Example{
	{
		Name: "combined", Format: "combined",
		Line:    `203.0.113.7 - - [20/Feb/2016:00:00:45 -0500] "GET /a?b=c HTTP/1.1" 200 24810 "https://www.example.org/" "Agent/1.0 (x; y)"`,
		Want:    "203.0.113.7 2016-02-20T05:00:45Z" + rr + "method=GET path=/a?b=c agent=Agent/1.0 (x; y) 200",
		Hostile: combined,
	},
	{
		Name: "vhost_combined", Format: "vhost_combined",
		Line: `www.example.org:443 203.0.113.7 - - [20/Feb/2016:00:00:45 -0500] "HEAD / HTTP/1.1" 200 187 "-" "x"`,
		Want: "203.0.113.7 2016-02-20T05:00:45Z" + rr + "method=HEAD host=www.example.org path=/ agent=x 200 port=443",
		Hostile: func(addr string, second int, text func() string) string {
			return "www.example.org:443 " + combined(addr, second, text)
		},
	},
	{
		Name: "common", Format: "common", Auto: "combined", // which reads it, too
		Line: `203.0.113.7 - - [20/Feb/2016:00:00:45 -0500] "HEAD / HTTP/1.1" 200 187`,
		Want: "203.0.113.7 2016-02-20T05:00:45Z" + rr + "method=HEAD path=/ 200",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:%02d +0000] "GET /%s HTTP/1.1" 404 5`, addr, ApacheEscaped(text()+"u"), second, ApacheEscaped(text()))
		},
	},
	{
		Name: "json", Format: "json", // Caddy's
		Line: `{"level":"info","ts":1711741827.9626286,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"203.0.113.7","remote_port":"54462","client_ip":"203.0.113.7","proto":"HTTP/1.1","method":"GET","host":"example.org","uri":"/","headers":{"User-Agent":["curl/7.88.1"],"Accept":["*/*"]}},"bytes_read":0,"user_id":"","duration":0.000033987,"size":0,"status":401,"resp_headers":{"Server":["Caddy"]}}`,
		Want: "203.0.113.7 2024-03-29T19:50:27.9626286Z" + rr + "method=GET host=example.org path=/ agent=curl/7.88.1 401",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`{"ua":"%s","remote_addr":"%s","ts":%d,"host":"%s","u":"/%s","x":{"ip":"%s"},"m":"GET","status":404}`,
				JSONEscaped(text()), addr, start+second, JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()))
		},
	},
	{
		// https://docs.aws.amazon.com/waf/latest/developerguide/logging-examples.html,
		// rate-based rule 1, without the white space.
		Name: "waf", Format: "json",
		Line: `{"timestamp":1683355579981,"formatVersion":1,"webaclId":"arn:aws:wafv2:x","terminatingRuleId":"RateBasedRule","terminatingRuleType":"RATE_BASED","action":"BLOCK","terminatingRuleMatchDetails":[],"httpSourceName":"APIGW","httpSourceId":"EXAMPLE11:rjvegx5guh:CanaryTest","ruleGroupList":[],"rateBasedRuleList":[{"rateBasedRuleId":"x","rateBasedRuleName":"RateBasedRule","limitKey":"CUSTOMKEYS","maxRateAllowed":100,"evaluationWindowSec":"120","customValues":[{"key":"HEADER","name":"dogname","value":"ella"}]}],"nonTerminatingMatchingRules":[],"requestHeadersInserted":null,"responseCodeSent":null,"httpRequest":{"clientIp":"52.46.82.45","country":"FR","headers":[{"name":"X-Forwarded-For","value":"52.46.82.45"},{"name":"X-Forwarded-Proto","value":"https"},{"name":"X-Forwarded-Port","value":"443"},{"name":"Host","value":"rjvegx5guh.execute-api.eu-west-3.amazonaws.com"},{"name":"X-Amzn-Trace-Id","value":"Root=1-645566cf-7cb058b04d9bb3ee01dc4036"},{"name":"dogname","value":"ella"},{"name":"User-Agent","value":"RateBasedRuleTestKoipOneKeyModulePV2"},{"name":"Accept-Encoding","value":"gzip,deflate"}],"uri":"/CanaryTest","args":"","httpVersion":"HTTP/1.1","httpMethod":"GET","requestId":"Ed0AiHF_CGYF-DA="}}`,
		Want: "52.46.82.45 2023-05-06T06:46:19.981Z request method=GET host=rjvegx5guh.execute-api.eu-west-3.amazonaws.com path=/CanaryTest agent=RateBasedRuleTestKoipOneKeyModulePV2",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`{"timestamp":%d000,"responseCodeSent":404,"httpRequest":{"clientIp":"%s","headers":[{"name":"x-%s","value":"%s"},{"name":"Host","value":"%s"},{"name":"User-Agent","value":"%s"}],"uri":"/%s","args":"%s","httpMethod":"GET"}}`,
				start+second, addr, JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()))
		},
	},
	{
		// https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/
		// names the fields, https://developers.cloudflare.com/logs/reference/log-output-options/
		// the forms of a time.
		Name: "logpush", Format: "json",
		Line: `{"ClientIP":"192.0.2.1","ClientRequestHost":"testing.example.org","ClientRequestMethod":"GET","ClientRequestPath":"/var/www","ClientRequestURI":"/var/www?x=1","ClientRequestUserAgent":"curl/8","EdgeEndTimestamp":1545155129703000000,"EdgeResponseBytes":1935,"EdgeResponseStatus":403,"EdgeStartTimestamp":1545155129696000000,"RayID":"48b371889c489b2c"}`,
		Want: "192.0.2.1 2018-12-18T17:45:29.696Z" + rr + "method=GET host=testing.example.org path=/var/www?x=1 agent=curl/8 403",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`{"ClientIP":"%s","EdgeStartTimestamp":"2016-02-20T00:00:%02dZ","EdgeResponseStatus":404,"ClientRequestHost":"%s","ClientRequestURI":"/%s","ClientRequestUserAgent":"%s","ClientRequestMethod":"GET"}`,
				addr, second, JSONEscaped(text()), JSONEscaped(text()), JSONEscaped(text()))
		},
	},
	{
		Name: "haproxy", Format: "haproxy",
		Line: `Nov 14 22:45:27 test haproxy[760]: 203.0.113.7:58444 [14/Nov/2015:22:45:25.439] main app/app1 1939/0/1/0/1940 403 5168 - - ---- 3/3/0/0/0 0/0 edgeguard{example.org|https://example.org/|curl/8.5} "GET / HTTP/1.1"`,
		Want: "203.0.113.7 2015-11-14T22:45:25.439Z" + rr + "method=GET host=example.org path=/ agent=curl/8.5 403",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`%s:80 [20/Feb/2016:00:00:%02d.000] f b/s 0/0/0/0/0 404 5 - - ---- 0/0/0/0/0 0/0 edgeguard{%s|%s} "GET /%s HTTP/1.1"`,
				addr, second, HAProxyHeader(text()), HAProxyHeader(text()), HAProxyEscaped(text()))
		},
	},
	{
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html,
		// example log entries.
		Name: "alb", Format: "alb",
		Line: `https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/ HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-"`,
		Want: "192.168.131.39 2018-07-02T22:23:00.186641Z" + rr + "method=GET host=www.example.com:443 path=/ agent=curl/7.46.0 200",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`https 2016-02-20T00:00:%02d.000000Z app/lb/1 %s:80 10.0.0.1:80 0.0 0.0 0.0 404 404 1 1 "GET http://%s:80/%s HTTP/1.1" "%s" - - arn "Root=1" "%s" "-" 0 2016-02-20T00:00:45Z "-"`,
				second, addr, RawTarget(text()), RawTarget(text()), RawHeader(text()), RawHeader(text()))
		},
	},
	{
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/access-log-collection.html, the example.
		Name: "classic", Format: "alb",
		Line: `2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 200 0 29 "GET http://www.example.com:80/ HTTP/1.1" "curl/7.38.0" - -`,
		Want: "192.168.131.39 2015-05-13T23:39:43.945958Z" + rr + "method=GET host=www.example.com:80 path=/ agent=curl/7.38.0 200",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`2016-02-20T00:00:%02d.000000Z lb %s:80 10.0.0.1:80 0.0 0.0 0.0 404 404 1 1 "GET http://%s:80/%s HTTP/1.1" "%s" - -`,
				second, addr, RawTarget(text()), RawTarget(text()), RawHeader(text()))
		},
	},
	{
		// Nginx Proxy Manager, rootfs/etc/nginx/conf.d/include/log-proxy.conf.
		Name: "npm", Format: "npm",
		Line: `[20/Feb/2016:00:00:45 +0000] - 404 404 - GET https ha.example.org "/api?a=b" [Client 192.0.2.1] [Length 0] [Gzip -] [Sent-to 10.0.0.7] "Mozilla/5.0 (x)" "https://a.example.org/"`,
		Want: "192.0.2.1 2016-02-20T00:00:45Z" + rr + "method=GET host=ha.example.org path=/api?a=b agent=Mozilla/5.0 (x) 404",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`[20/Feb/2016:00:00:%02d +0000] - 404 404 - GET https h "/%s" [Client %s] [Length 0] [Gzip -] [Sent-to 10.0.0.7] "%s" "%s"`,
				second, NginxEscaped(text()), addr, NginxEscaped(text()), NginxEscaped(text()))
		},
	},
	{
		// https://wiki.squid-cache.org/SquidFaq/SquidLogs and
		// http://www.squid-cache.org/Doc/config/logformat/.
		Name: "squid", Format: "squid",
		Line: `1286536309.450    180 192.168.0.224 TCP_MISS/200 411 GET http://www.example.com/minitri.flg - DIRECT/125.23.140.35 text/plain`,
		Want: "192.168.0.224 2010-10-08T11:11:49.45Z" + rr + "method=GET host=www.example.com path=/minitri.flg 200",
		Hostile: func(addr string, second int, text func() string) string {
			return fmt.Sprintf(`%d.000     12 %s TCP_DENIED/404 411 GET http://%s/%s %s HIER_NONE/- text/html`, start+second, addr, RawTarget(text()), RawTarget(text()), RawTarget(text()))
		},
	},
	{
		// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html,
		// the example log file.
		Name: "w3c", Format: "w3c",
		Head:    "#Version: 1.0\n" + CloudFrontFields + "\n",
		Line:    cloudFrontRow,
		Want:    "192.0.2.100 2019-12-04T21:02:31Z" + rr + "method=GET host=d111111abcdef8.cloudfront.net path=/index.html agent=Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0.3904.108 Safari/537.36 200",
		Hostile: cloudFront,
	},
	{
		// https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage,
		// default format string.
		Name: "envoy", Format: "envoy", Doubtful: true,
		Line: `[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"`,
		Want: "10.0.35.28 2016-04-15T20:17:00.31Z" + rr + "method=POST host=locations path=/api/v1/locations agent=nsq2http 204",
		Hostile: func(addr string, second int, text func() string) string {
			list := RawHeader(text())
			if list != "" {
				list += ","
			}
			return fmt.Sprintf(`[2016-02-20T00:00:%02d.000Z] "GET /%s HTTP/1.1" 404 - 0 0 1 1 "%s%s" "%s" "id" "h" "10.0.0.1:80"`, second, RawTarget(text()), list, addr, RawHeader(text()))
		},
	},
}

// start is 2016-02-20T00:00:00Z.
const start = 1455926400

// Of returns the example of that name; one without lines, if there is none.
func Of(name string) Example {
	for _, e := range Examples {
		if e.Name == name {
			return e
		}
	}
	return Example{}
}

func combined(addr string, second int, text func() string) string {
	return fmt.Sprintf(`%s - %s [20/Feb/2016:00:00:%02d +0000] "GET /%s HTTP/1.1" 404 5 "%s" "%s"`,
		addr, NginxEscaped(text()+"u"), second, NginxEscaped(text()), NginxEscaped(text()), NginxEscaped(text()))
}

const (
	// CloudFrontFields names the columns of CloudFront's standard logs.
	CloudFrontFields = `#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end`
	cloudFrontRow    = "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0;%20Win64;%20x64)%20AppleWebKit/537.36%20(KHTML,%20like%20Gecko)%20Chrome/78.0.3904.108%20Safari/537.36\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html\t78\t-\t-"
)

func cloudFront(addr string, second int, text func() string) string {
	row := strings.Split(cloudFrontRow, "\t")
	row[0], row[1], row[4], row[8] = "2016-02-20", fmt.Sprintf("00:00:%02d", second), addr, "404"
	row[7] = "/" + url.PathEscape(text())
	for _, i := range []int{9, 10, 11, 12, 15, 19} {
		row[i] = url.PathEscape(text())
	}
	return strings.Join(row, "\t")
}
