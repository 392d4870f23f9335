// Package envoy answers Envoy by gRPC while a request waits. It is the server of its external
// authorization (ext_authz), and its rate limit service.
//
// A request's path, which is also the list of files:
//
//	server ─▶ call ─▶ check or limit ─Event─▶ asker ─▶ Decide ─Verdict─▶ check or limit ─▶ call
//
// One [Server] serves one listener with HTTP/2, over TLS or not. A call is one event, however
// many descriptors it has.
//
// Of ext_authz the client is the address of the last hop, as Envoy saw it. Where that hop is
// a trusted proxy, it is taken from a header of that, as package clientaddr does, and never
// from a header alone. Of the rate limit service it is the descriptor remote_address, and the
// same holds of it.
//
// gRPC has no password here. So a peer that is not trusted is counted as a client itself:
// trusted are those on a unix socket, those with a certificate, and those whose address is one
// of [inline.Config.Trust].
//
// It fails open where the fault is ours: without a client's address, and when Decide panics,
// the request passes and an alarm says so. It refuses a request that is too long to be read.
// Otherwise an Envoy that fails open would let through any client that makes its requests
// long. What happens while edgeguard does not answer is Envoy's configuration; package
// snippets has it.
//
// It reads the clock for deadlines only; the time of an event comes from [inline.Config.Now].
package envoy
