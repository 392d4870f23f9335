// Package kernel measures what it costs that the kernel refuses: a real nginx, a real
// edgeguard that follows its log, and clients behind a cable of their own, in network
// namespaces.
//
//	go test -run '^$' -bench . -benchtime 1x ./loadtest/kernel
package kernel
