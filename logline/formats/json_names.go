package formats

import (
	"bytes"

	"edgeguard/logline/scan"
)

// What a JSON member may hold beside a [scan.LinePart]; that of an address is the client's.
const (
	jsonPeer       = scan.Parts + iota // who is connected: the client, or a proxy before it
	jsonArgs                           // the query, apart from the path
	jsonHeaderList                     // headers, each an object of a name and a value
	jsonHeaderName
	jsonHeaderValue
	jsonParts
)

// jsonMeaning is what a key means; of several for one part the least rank
// counts, whatever their order. Rank 0 means nothing.
type jsonMeaning struct {
	part scan.LinePart
	rank uint8
}

// jsonName returns the meaning of a key.
//
// Addresses: Caddy's client_ip is its remote_ip, unless the operator has named
// trusted proxies. Traefik's ClientHost is whatever X-Forwarded-For says where
// a trusted proxy let it through, so that ClientAddr, the connection's own, is
// taken where both are there. Cloudflare's ClientIP and the clientIp of AWS WAF are
// the connection's own, which is a proxy's where one is before them. No name of a forwarding header is known here.
func jsonName(key []byte, level jsonLevel) jsonMeaning {
	switch level {
	case jsonRequest:
		return caddyName(key)
	case jsonHeaders:
		return sentName(key)
	case jsonWAF:
		return wafName(key)
	case jsonHeader:
		return headerName(key)
	}
	switch string(key) {
	case "remote_addr", "ClientAddr", "downstream_remote_address", "ClientIP":
		return jsonMeaning{scan.PartAddr, 1}
	case "remote_ip":
		return jsonMeaning{scan.PartAddr, 2}
	case "ip":
		return jsonMeaning{scan.PartAddr, 3}
	case "client_ip", "clientip":
		return jsonMeaning{scan.PartAddr, 4}
	case "client", "addr":
		return jsonMeaning{scan.PartAddr, 5}
	case "ClientHost":
		return jsonMeaning{scan.PartAddr, 6}
	case "realip_remote_addr":
		return jsonMeaning{jsonPeer, 1}
	case "status", "DownstreamStatus", "response_code", "EdgeResponseStatus":
		return jsonMeaning{scan.PartStatus, 1}
	case "s", "status_code":
		return jsonMeaning{scan.PartStatus, 2}
	case "responseCodeSent":
		return jsonMeaning{scan.PartStatus, 3}
	}
	if m := jsonTimeName(key); m.rank > 0 {
		return m
	}
	return jsonRequestName(key)
}

func jsonTimeName(key []byte) jsonMeaning {
	switch string(key) {
	case "msec", "StartUTC", "start_time", "EdgeStartTimestamp":
		return jsonMeaning{scan.PartTime, 1}
	case "time_iso8601":
		return jsonMeaning{scan.PartTime, 2}
	case "time_local":
		return jsonMeaning{scan.PartTime, 3}
	case "ts":
		return jsonMeaning{scan.PartTime, 4}
	case "time", "t":
		return jsonMeaning{scan.PartTime, 5}
	case "timestamp":
		return jsonMeaning{scan.PartTime, 6}
	case "@timestamp":
		return jsonMeaning{scan.PartTime, 7}
	}
	return jsonMeaning{}
}

func jsonRequestName(key []byte) jsonMeaning {
	switch string(key) {
	case "request":
		return jsonMeaning{scan.PartRequest, 1}
	case "request_method", "RequestMethod", "ClientRequestMethod":
		return jsonMeaning{scan.PartMethod, 1}
	case "method", "m":
		return jsonMeaning{scan.PartMethod, 2}
	case "request_uri", "RequestPath", "ClientRequestURI":
		return jsonMeaning{scan.PartPath, 1}
	case "uri", "u":
		return jsonMeaning{scan.PartPath, 2}
	case "url", "path", ":path", "x-envoy-origin-path", "ClientRequestPath":
		return jsonMeaning{scan.PartPath, 3}
	case "host", "RequestHost", ":authority", "authority", "ClientRequestHost":
		return jsonMeaning{scan.PartHost, 1}
	case "http_host", "h":
		return jsonMeaning{scan.PartHost, 2}
	case "server_name":
		return jsonMeaning{scan.PartHost, 3}
	case "http_user_agent", "request_User-Agent", "user-agent", "user_agent", "ClientRequestUserAgent":
		return jsonMeaning{scan.PartAgent, 1}
	case "ua", "agent":
		return jsonMeaning{scan.PartAgent, 2}
	case "http_referer", "request_Referer", "referer", "ClientRequestReferer":
		return jsonMeaning{scan.PartReferer, 1}
	case "http_referrer", "referrer":
		return jsonMeaning{scan.PartReferer, 2}
	case "http_sec_fetch_site", "request_Sec-Fetch-Site", "sec-fetch-site":
		return jsonMeaning{scan.PartFetchSite, 1}
	}
	return jsonMeaning{}
}

// sentName returns the meaning of a header's name in Caddy's request.
func sentName(key []byte) jsonMeaning {
	switch string(key) {
	case "User-Agent":
		return jsonMeaning{scan.PartAgent, 1}
	case "Referer":
		return jsonMeaning{scan.PartReferer, 1}
	case "Sec-Fetch-Site":
		return jsonMeaning{scan.PartFetchSite, 1}
	}
	return jsonMeaning{}
}

// caddyName returns the meaning of a key inside Caddy's request.
func caddyName(key []byte) jsonMeaning {
	switch string(key) {
	case "client_ip":
		return jsonMeaning{scan.PartAddr, 1}
	case "remote_ip":
		return jsonMeaning{jsonPeer, 1}
	case "remote_addr": // before Caddy 2.5
		return jsonMeaning{jsonPeer, 2}
	case "method":
		return jsonMeaning{scan.PartMethod, 1}
	case "host":
		return jsonMeaning{scan.PartHost, 1}
	case "uri":
		return jsonMeaning{scan.PartPath, 1}
	}
	return jsonMeaning{}
}

// wafName returns the meaning of a key inside the httpRequest of AWS WAF.
func wafName(key []byte) jsonMeaning {
	switch string(key) {
	case "clientIp":
		return jsonMeaning{scan.PartAddr, 1}
	case "httpMethod":
		return jsonMeaning{scan.PartMethod, 1}
	case "uri":
		return jsonMeaning{scan.PartPath, 1}
	case "args":
		return jsonMeaning{jsonArgs, 1}
	case "headers":
		return jsonMeaning{jsonHeaderList, 1}
	}
	return jsonMeaning{}
}

// headerName returns the meaning of a key inside one header of AWS WAF.
func headerName(key []byte) jsonMeaning {
	switch string(key) {
	case "name":
		return jsonMeaning{jsonHeaderName, 1}
	case "value":
		return jsonMeaning{jsonHeaderValue, 1}
	}
	return jsonMeaning{}
}

// escapeHash escapes the "#" in a target that Caddy has written. For Caddy it is
// a part of the path, and passed on as "%23"; other servers end the path there,
// or refuse it.
func escapeHash(target []byte) []byte {
	if bytes.IndexByte(target, '#') < 0 {
		return target
	}
	return bytes.ReplaceAll(target, []byte("#"), []byte("%23"))
}
