// Package haproxypeers compares what edgeguard counts over the peers protocol of a
// real HAProxy with what clients requested. Both programs are reloaded, restarted
// and killed meanwhile.
package haproxypeers
