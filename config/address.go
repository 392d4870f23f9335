package config

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"edgeguard/config/address"
)

// address reads host:port, tcp:host:port, udp:host:port, unix:/path or
// unixgram:/path, of which only the networks given are possible.
func (n node) address(networks ...string) address.Address {
	if v, isNumber := n.ast.(*ast.IntegerNode); isNumber && slices.Contains(networks, "tcp") {
		n.wrong(clip(v.GetToken().Value)+" is a port without a host", fmt.Sprintf("write %q", "127.0.0.1:"+clip(v.GetToken().Value)))
		return address.Address{}
	}
	text, ok := n.value()
	if !ok {
		return address.Address{}
	}
	a, ok := address.Parse(text)
	if !ok || !slices.Contains(networks, a.Network) {
		n.wrong(fmt.Sprintf("cannot listen at %q", n.shown(text)), "write "+address.Forms(networks))
		return address.Address{}
	}
	if first, taken := n.r.listens[a]; taken {
		n.wrong(fmt.Sprintf("%s is already in use by %s", a, first), "give each its own address")
	}
	n.r.listens[a] = n.path
	return a
}
