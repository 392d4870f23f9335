// Package haproxypeers speaks HAProxy's peers protocol: a HAProxy is connected to
// edgeguard as to another HAProxy. It sends what its stick tables count, and is
// taught which addresses are blocked. Nothing of that is on a request's path.
//
// A [Server] has one connection for each HAProxy, by its name. The latest wins, as
// in HAProxy itself: after a reload the new process connects while the old one
// still ends, and what the old one sends then has been inherited by the new.
//
// Who may connect at all is decided before a byte is read: see [haproxy.Door].
package haproxypeers
