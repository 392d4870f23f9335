// Package haproxyload measures what it costs that HAProxy counts for edgeguard and
// refuses for it over the peers protocol: with the real programs, beside the same
// HAProxy without both. Its benchmarks take each figure once:
//
//	go test ./loadtest/haproxyload -run '^$' -bench . -benchtime 1x
//
// EDGEGUARD_HAPROXY names another HAProxy than the one that is installed.
package haproxyload
