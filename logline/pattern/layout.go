package pattern

import (
	"time"

	"edgeguard/logline/scan"
)

// Layout is a text format: what a line must have, and what may follow it.
type Layout struct {
	head *program
	// loose is tried where the head does not fit; nil: nothing is.
	loose *program
	tail  *program // nil: nothing may follow
	// hashed says that texts are escaped as HAProxy does it.
	hashed bool
}

// Parser returns the parser of one log. Zone is that of times that name none.
func (l Layout) Parser(zone *time.Location) scan.LineParser {
	return &parser{layout: l, Clock: scan.Clock{Zone: zone}}
}

// Nginx compiles a log_format, as the string or as the whole directive.
func Nginx(s string) (Layout, error) {
	p, err := compileNginx(s)
	return Layout{head: p}, err
}

// Apache compiles a LogFormat, as the string or as the whole directive.
func Apache(s string) (Layout, error) {
	p, err := compileApache(s)
	return Layout{head: p}, err
}

// EndsHost reports whether a host that clients write ends at its first blank.
func (l Layout) EndsHost() bool { return l.head != nil && l.head.words }

// The combined format and its kin are lenient on their right. What a server appends
// after the agent is passed over. A line whose referer or agent is broken (a cut
// line, a server that does not escape) still counts, without an agent.
const (
	commonHead   = `%h %l %u %t "%r" %>s`
	commonTail   = ` %b`
	combinedTail = ` %b "%{Referer}i" "%{User-Agent}i"`
	// A host has no blank, and no comma: that would be X-Forwarded-For, and the address
	// behind it a proxy's.
	vhostHead  = `%v:%p %h %l %u %t "%r" %>s`
	vhostLoose = `%v %h %l %u %t "%r" %>s`
)

// Combined returns the layout of the combined log format.
func Combined() Layout { return apacheText(commonHead, combinedTail) }

// Common returns the layout of the common log format.
func Common() Layout { return apacheText(commonHead, commonTail) }

// apacheText compiles one of our own formats.
func apacheText(head, tail string) Layout {
	return Layout{head: own(compileApache(head)), tail: own(compileTail(tail))}
}

// own is the program of one of our own formats; they are constants, so that an error in one is
// ours and shows in the first test.
func own(p *program, err error) *program {
	if err != nil {
		panic(err)
	}
	return p
}

// VhostCombined returns the layout of the combined format behind a host, with its
// port or without.
func VhostCombined() Layout {
	l := apacheText(vhostHead, combinedTail)
	l.loose = apacheText(vhostLoose, combinedTail).head
	return l
}

// Nginx Proxy Manager's formats: proxy, and standard for what it answers itself
// (rootfs/etc/nginx/nginx.conf, conf.d/include/log-proxy.conf).
const (
	npmHead = `[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] ` +
		`[Gzip $gzip_ratio] [Sent-to $server] "$http_user_agent" "$http_referer"`
	npmLoose = `[$time_local] $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] "$http_user_agent" "$http_referer"`
)

// ProxyManager returns the layout of Nginx Proxy Manager's logs.
func ProxyManager() Layout {
	return Layout{head: own(compileNginx(npmHead)), loose: own(compileNginx(npmLoose))}
}
