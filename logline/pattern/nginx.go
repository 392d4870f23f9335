package pattern

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// nginxVariables are those whose shape is known. Any other is taken for text
// that a client may have written.
// (https://nginx.org/en/docs/varindex.html)
var nginxVariables = withOwn(map[string]variable{
	"remote_addr":         {scan.PartAddr, howShape},
	"realip_remote_addr":  {whatPeer, howShape},
	"time_local":          {whatCLF, howShape},
	"time_iso8601":        {whatISO, howShape},
	"msec":                {whatUnix, howShape},
	"status":              {scan.PartStatus, howShape},
	"server_port":         {scan.PartPort, howShape},
	"request":             {scan.PartRequest, howFree},
	"request_method":      {scan.PartMethod, howFree},
	"request_uri":         {scan.PartPath, howFree},
	"uri":                 {scan.PartPath, howFree},
	"document_uri":        {scan.PartPath, howFree},
	"host":                {scan.PartHost, howWord},
	"http_host":           {scan.PartHost, howFree},
	"server_name":         {scan.PartHost, howToken},
	"http_user_agent":     {scan.PartAgent, howFree},
	"http_referer":        {scan.PartReferer, howFree},
	"http_sec_fetch_site": {scan.PartFetchSite, howFree},
	"hostname":            {scan.PartNode, howToken},
}, "body_bytes_sent bytes_sent connection connection_requests gzip_ratio pid pipe remote_port realip_remote_port request_id "+
	"request_length request_time scheme server_addr server_protocol ssl_cipher ssl_protocol")

// compileNginx compiles a log_format, as the string or as the whole directive.
func compileNginx(s string) (*program, error) {
	if strings.HasPrefix(s, "log_format") {
		var err error
		if s, err = nginxDirective(s); err != nil {
			return nil, err
		}
	}
	tokens, err := nginxTokens(s)
	if err != nil {
		return nil, err
	}
	return compile(tokens)
}

func nginxTokens(s string) ([]token, error) {
	var tokens []token
	for s != "" {
		lit, rest, found := strings.Cut(s, "$")
		if lit != "" {
			tokens = append(tokens, token{lit: lit})
		}
		if !found {
			break
		}
		name, after, err := nginxName(rest)
		if err != nil {
			return nil, err
		}
		v, known := nginxVariables[name]
		if !known {
			v.how = howFree
		}
		tokens = append(tokens, token{name: "$" + name, what: v.what, how: v.how})
		s = after
	}
	return tokens, nil
}

// nginxName reads a variable's name after the $, with or without braces.
func nginxName(s string) (name, rest string, err error) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		name, rest, ok = strings.Cut(inner, "}")
		if !ok || name == "" {
			return "", "", errors.New("a ${ has no }: close it")
		}
		return name, rest, nil
	}
	n := 0
	for n < len(s) && (s[n] == '_' || scan.IsAlnum(s[n])) {
		n++
	}
	if n == 0 {
		return "", "", fmt.Errorf("a $ without a name stands before %q: nginx has no way to write a bare $", s)
	}
	return s[:n], s[n:], nil
}

// nginxDirective takes the format out of
//
//	log_format NAME [escape=default|json|none] 'string' 'string' … ;
func nginxDirective(s string) (string, error) {
	words, err := directiveWords(strings.TrimPrefix(s, "log_format"))
	if err != nil {
		return "", err
	}
	if len(words) > 1 && words[1] == "escape=none" {
		return "", errors.New("escape=none lets a client write quotes into the log, and with them any address: leave it out")
	}
	if len(words) > 1 && strings.HasPrefix(words[1], "escape=") {
		words = append(words[:1], words[2:]...)
	}
	if len(words) < 2 {
		return "", errors.New("log_format needs a name and a string: log_format main '$remote_addr …';")
	}
	return strings.Join(words[1:], ""), nil
}
