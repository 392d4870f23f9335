// Package haproxy runs what `edgeguard snippets haproxy` prints beside the HAProxy of
// a Debian, with its own haproxy.cfg: a chroot, a user of its own, no groups.
package haproxy
