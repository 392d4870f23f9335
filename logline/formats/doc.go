// Package formats hides where the makers of logs put the fields of a line: HAProxy,
// Envoy, Squid, AWS load balancers, W3C's extended format, delimited files, JSON by the
// names or the paths of its members. Lines that another program has wrapped in JSON are
// unwrapped here, too.
//
// Each parser is a [scan.LineParser]. It takes an address only from where the server
// writes it, and nothing from behind a text that a client could end.
package formats
