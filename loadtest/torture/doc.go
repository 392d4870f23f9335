// Package torture does to the real program what will be done to it: kills it,
// floods it, lies to it, and looks whether its promises hold.
//
// Its tests build the command, start it as an operator would, and speak to it
// through its sockets alone. Each runs for seconds in an ordinary `go test`
// and at full length with TORTURE=1:
//
//	TORTURE=1 go test -count=1 -v -timeout 60m ./loadtest/torture
//
// What is drawn at random is drawn from a seed that is printed; SEED=N draws
// it again. Nothing is ever sent to the addresses that are counted: all traffic
// stays on loopback and unix sockets.
//
// Nothing of edgeguard imports it.
package torture
