package jsonlog

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
// taken where both are there. No name of a forwarding header is known here.
func jsonName(key []byte, level jsonLevel) jsonMeaning {
	switch level {
	case jsonRequest:
		return caddyName(key)
	case jsonHeaders:
		if string(key) == "User-Agent" {
			return jsonMeaning{jsonAgent, 1}
		}
		return jsonMeaning{}
	}
	switch string(key) {
	case "remote_addr", "ClientAddr", "downstream_remote_address":
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
	case "status", "DownstreamStatus", "response_code":
		return jsonMeaning{jsonStatus, 1}
	case "s", "status_code":
		return jsonMeaning{jsonStatus, 2}
	}
	if m := jsonTimeName(key); m.rank > 0 {
		return m
	}
	return jsonRequestName(key)
}

func jsonTimeName(key []byte) jsonMeaning {
	switch string(key) {
	case "msec", "StartUTC", "start_time":
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
	case "request_method", "RequestMethod":
		return jsonMeaning{jsonMethod, 1}
	case "method", "m":
		return jsonMeaning{jsonMethod, 2}
	case "request_uri", "RequestPath":
		return jsonMeaning{jsonPath, 1}
	case "uri", "u":
		return jsonMeaning{jsonPath, 2}
	case "url", "path", ":path", "x-envoy-origin-path":
		return jsonMeaning{jsonPath, 3}
	case "host", "RequestHost", ":authority", "authority":
		return jsonMeaning{jsonHost, 1}
	case "http_host", "h":
		return jsonMeaning{jsonHost, 2}
	case "server_name":
		return jsonMeaning{jsonHost, 3}
	case "http_user_agent", "request_User-Agent", "user-agent", "user_agent":
		return jsonMeaning{jsonAgent, 1}
	case "ua", "agent":
		return jsonMeaning{jsonAgent, 2}
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

// escapeHash escapes the "#" in a target that Caddy has written. For Caddy it is
// a part of the path, and passed on as "%23"; other servers end the path there,
// or refuse it.
func escapeHash(target []byte) []byte {
	if bytes.IndexByte(target, '#') < 0 {
		return target
	}
	return bytes.ReplaceAll(target, []byte("#"), []byte("%23"))
}
