// Package listeners runs the listeners on which proxies reach a node, other than forward
// auth: Envoy's gRPC calls, HAProxy's peers protocol, HAProxy's SPOE. Each is a service,
// which a reload keeps where its settings are the same.
package listeners
