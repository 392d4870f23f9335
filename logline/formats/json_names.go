package formats

import "bytes"

// jsonField is what a JSON member may hold.
type jsonField uint8

const (
	jsonAddr jsonField = iota // the client
	jsonPeer                  // who is connected: the client, or a proxy before it
	jsonTime
	jsonStatus
	jsonRequestLine
	jsonMethod
	jsonPath
	jsonHost
	jsonAgent
	jsonReferer
	jsonFetchSite
	jsonArgs       // the query, apart from the path
	jsonHeaderList // headers, each an object of a name and a value
	jsonHeaderName
	jsonHeaderValue
	jsonFields
)

// jsonMeaning is what a key means; of several for one field the least rank
// counts, whatever their order. Rank 0 means nothing.
type jsonMeaning struct {
	field jsonField
	rank  uint8
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
		return jsonMeaning{jsonAddr, 1}
	case "remote_ip":
		return jsonMeaning{jsonAddr, 2}
	case "ip":
		return jsonMeaning{jsonAddr, 3}
	case "client_ip", "clientip":
		return jsonMeaning{jsonAddr, 4}
	case "client", "addr":
		return jsonMeaning{jsonAddr, 5}
	case "ClientHost":
		return jsonMeaning{jsonAddr, 6}
	case "realip_remote_addr":
		return jsonMeaning{jsonPeer, 1}
	case "status", "DownstreamStatus", "response_code", "EdgeResponseStatus":
		return jsonMeaning{jsonStatus, 1}
	case "s", "status_code":
		return jsonMeaning{jsonStatus, 2}
	case "responseCodeSent":
		return jsonMeaning{jsonStatus, 3}
	}
	if m := jsonTimeName(key); m.rank > 0 {
		return m
	}
	return jsonRequestName(key)
}

func jsonTimeName(key []byte) jsonMeaning {
	switch string(key) {
	case "msec", "StartUTC", "start_time", "EdgeStartTimestamp":
		return jsonMeaning{jsonTime, 1}
	case "time_iso8601":
		return jsonMeaning{jsonTime, 2}
	case "time_local":
		return jsonMeaning{jsonTime, 3}
	case "ts":
		return jsonMeaning{jsonTime, 4}
	case "time", "t":
		return jsonMeaning{jsonTime, 5}
	case "timestamp":
		return jsonMeaning{jsonTime, 6}
	case "@timestamp":
		return jsonMeaning{jsonTime, 7}
	}
	return jsonMeaning{}
}

func jsonRequestName(key []byte) jsonMeaning {
	switch string(key) {
	case "request":
		return jsonMeaning{jsonRequestLine, 1}
	case "request_method", "RequestMethod", "ClientRequestMethod":
		return jsonMeaning{jsonMethod, 1}
	case "method", "m":
		return jsonMeaning{jsonMethod, 2}
	case "request_uri", "RequestPath", "ClientRequestURI":
		return jsonMeaning{jsonPath, 1}
	case "uri", "u":
		return jsonMeaning{jsonPath, 2}
	case "url", "path", ":path", "x-envoy-origin-path", "ClientRequestPath":
		return jsonMeaning{jsonPath, 3}
	case "host", "RequestHost", ":authority", "authority", "ClientRequestHost":
		return jsonMeaning{jsonHost, 1}
	case "http_host", "h":
		return jsonMeaning{jsonHost, 2}
	case "server_name":
		return jsonMeaning{jsonHost, 3}
	case "http_user_agent", "request_User-Agent", "user-agent", "user_agent", "ClientRequestUserAgent":
		return jsonMeaning{jsonAgent, 1}
	case "ua", "agent":
		return jsonMeaning{jsonAgent, 2}
	case "http_referer", "request_Referer", "referer", "ClientRequestReferer":
		return jsonMeaning{jsonReferer, 1}
	case "http_referrer", "referrer":
		return jsonMeaning{jsonReferer, 2}
	case "http_sec_fetch_site", "request_Sec-Fetch-Site", "sec-fetch-site":
		return jsonMeaning{jsonFetchSite, 1}
	}
	return jsonMeaning{}
}

// sentName returns the meaning of a header's name in Caddy's request.
func sentName(key []byte) jsonMeaning {
	switch string(key) {
	case "User-Agent":
		return jsonMeaning{jsonAgent, 1}
	case "Referer":
		return jsonMeaning{jsonReferer, 1}
	case "Sec-Fetch-Site":
		return jsonMeaning{jsonFetchSite, 1}
	}
	return jsonMeaning{}
}

// caddyName returns the meaning of a key inside Caddy's request.
func caddyName(key []byte) jsonMeaning {
	switch string(key) {
	case "client_ip":
		return jsonMeaning{jsonAddr, 1}
	case "remote_ip":
		return jsonMeaning{jsonPeer, 1}
	case "remote_addr": // before Caddy 2.5
		return jsonMeaning{jsonPeer, 2}
	case "method":
		return jsonMeaning{jsonMethod, 1}
	case "host":
		return jsonMeaning{jsonHost, 1}
	case "uri":
		return jsonMeaning{jsonPath, 1}
	}
	return jsonMeaning{}
}

// wafName returns the meaning of a key inside the httpRequest of AWS WAF.
func wafName(key []byte) jsonMeaning {
	switch string(key) {
	case "clientIp":
		return jsonMeaning{jsonAddr, 1}
	case "httpMethod":
		return jsonMeaning{jsonMethod, 1}
	case "uri":
		return jsonMeaning{jsonPath, 1}
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
