// Package torture does to the real program what will be done to it. It kills it,
// floods it, sends it false data, and checks that its promises hold.
//
// Its tests build the command, start it as an operator would, and speak to it
// through its sockets alone. Each runs for seconds in an ordinary `go test`
// and at full length with TORTURE=1:
//
//	TORTURE=1 go test -count=1 -v -timeout 60m ./test/torture
//
// Random choices come from a seed that is printed; SEED=N repeats them. Nothing is
// ever sent to the addresses that are counted: all traffic stays on loopback and
// unix sockets.
//
// No package of edgeguard imports it.
package torture
