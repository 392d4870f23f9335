// Package clients has the tests of listen.envoy with the clients of others: grpcurl,
// envoyproxy/ratelimit's own, and gRPC's library, whose messages are also the reference for
// package envoy. It is a module of its own, so that nobody downloads these with edgeguard.
package clients
