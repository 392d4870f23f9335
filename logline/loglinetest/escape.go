package loglinetest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ApacheEscaped is ap_escape_logitem of Apache's server/util.c.
func ApacheEscaped(s string) string {
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

// NginxEscaped is ngx_http_log_escape of nginx's ngx_http_log_module.c.
func NginxEscaped(s string) string {
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

// HAProxyEscaped is lf_encode_chunk of HAProxy's src/log.c with its url map.
func HAProxyEscaped(s string) string {
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

// HAProxyHeader is a captured header's value as HAProxy writes it.
func HAProxyHeader(s string) string {
	return strings.NewReplacer("{", "#7B", "|", "#7C", "}", "#7D").Replace(HAProxyEscaped(s))
}

// JSONEscaped is what stands between the quotes of a string in JSON.
func JSONEscaped(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

// RawHeader is a header's value as it goes through servers that escape nothing: any
// byte but a line's end or NUL (RFC 9110, 5.5).
func RawHeader(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == 0 {
			return -1
		}
		return r
	}, s)
}

// RawTarget is a request's target of such a server: it ends at a
// blank.
func RawTarget(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 || r == ' ' || '\t' <= r && r <= '\r' {
			return -1
		}
		return r
	}, s)
}
