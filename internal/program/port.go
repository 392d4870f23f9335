package program

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports of loopback for programs that cannot choose one themselves: a port that the kernel chose for a listener that is closed again is
// not free: the kernel gives it to the next that asks, also to an outgoing
// connection of another test's process.
//
// These ports lie below those that the kernel chooses from, and whoever was given
// one holds the UDP port of the same number. A UDP port has one holder on the
// machine, whatever folders a process sees, and is free again when the process
// ends.

// first and ports are the range. Linux chooses ports of its own from 32768 by
// default, some sandboxes from 16000.
const (
	first = 10_000
	ports = 6_000
)

// start is where this process begins, and tried counts the ports that it tried: it
// goes through all before it gives one again.
var (
	start = rand.Uint32N(ports)
	tried atomic.Uint32
)

// Port returns a port that nothing listens at, and that no other test is given
// until this one and its cleanups have ended.
func Port(t testing.TB) int {
	t.Helper()
	port, release, err := Claim()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Address returns the address of such a port, 127.0.0.1:12345 say.
func Address(t testing.TB) string {
	t.Helper()
	return "127.0.0.1:" + strconv.Itoa(Port(t))
}

// Claim returns a port that nothing listens at. No other Claim of this machine
// returns it before release is called or the process ends.
func Claim() (port int, release func(), err error) {
	for range ports {
		port := first + int((start+tried.Add(1))%ports)
		address := "127.0.0.1:" + strconv.Itoa(port)
		held, err := net.ListenPacket("udp4", address)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp4", address); err == nil && l.Close() == nil {
			return port, func() { _ = held.Close() }, nil
		}
		_ = held.Close()
	}
	return 0, nil, errors.New("no free port: all ports from 10000 to 15999 are in use; end the programs that listen there")
}
