// Package clientaddr finds the real client behind trusted proxies.
//
// The peer of the socket is the only address that cannot be forged. If it is a
// trusted proxy, the header it sends names the proxy's client. If that is a
// trusted proxy too, the next name to the left counts, and so on. The walk ends
// at the first address that is not trusted: that is the client. Anything further
// left was written by strangers and is never looked at. A header of a peer that is
// not trusted is not read at all.
//
// What cannot be read with one meaning only (01.2.3.4, "unknown", garbage) ends
// the walk at the last address that could.
//
// The package is pure. A [Finder] is safe for concurrent use.
package clientaddr
