package haproxy

// This file runs what `edgeguard snippets haproxy` prints beside the HAProxy of
// a Debian, with its own haproxy.cfg: a chroot, a user of its own and no groups.
