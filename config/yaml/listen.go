package yaml

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Address reads host:port, tcp:host:port, udp:host:port, unix:/path or
// unixgram:/path, of which only the networks given are possible.
func (n Node) Address(networks ...string) Address {
	if v, isNumber := n.ast.(*ast.IntegerNode); isNumber && slices.Contains(networks, "tcp") {
		n.Wrong(Clip(v.GetToken().Value)+" is a port without a host", fmt.Sprintf("write %q", "127.0.0.1:"+Clip(v.GetToken().Value)))
		return Address{}
	}
	text, ok := n.Value()
	if !ok {
		return Address{}
	}
	a, ok := ParseAddress(text)
	if !ok || !slices.Contains(networks, a.Network) {
		n.Wrong(fmt.Sprintf("cannot listen at %q", n.shown(text)), "write "+addressForms(networks))
		return Address{}
	}
	n.Claim(a)
	return a
}

// Claim notes that the value listens at an address, and refuses one that is taken.
func (n Node) Claim(a Address) {
	if first, taken := n.f.listens[a]; taken {
		n.Wrong(fmt.Sprintf("%s is already in use by %s%s", a, first, n.Elsewhere(first)), "give each its own address")
	}
	n.f.listens[a] = n.path
}

// Listener reads an address, or a mapping with one and further fields.
func (n Node) Listener(into *Address, known Fields) {
	entries, isMapping := n.entries()
	if !isMapping {
		*into = n.Address("tcp", "unix")
		n.f.moves(n.path, JoinPath(n.path, "address"))
		return
	}
	known["address"] = func(n Node) { *into = n.Address("tcp", "unix") }
	if len(entries) == 1 && known[entries[0].Key.GetToken().Value] == nil {
		n.WrongType("an address or a mapping with `address`") // 127.0.0.1:9180 without quotes
		return
	}
	n.Mapping(known)
	if into.Network == "" && !n.Touched("address") {
		n.Wrong("has no address", "set address, such as 127.0.0.1:9180")
	}
}

// Access fills in who may connect to a unix socket, and refuses to say it of
// TCP; danger is what any user could do.
func (n Node) Access(to Address, a Access, usual fs.FileMode, danger string) Access {
	if !to.Unix() {
		if to.Network != "" && a != (Access{}) && !n.Touched("mode", "group") {
			n.Wrong("has a mode or a group but is not a unix socket", "remove them, or listen at unix:/path")
		}
		return Access{}
	}
	if a.Mode == 0 {
		a.Mode = usual
	}
	if a.Mode&0o002 != 0 {
		n.Warn(fmt.Sprintf("%s is open to every user of this host: %s", to, danger), "use mode 0660 and a group")
	}
	return a
}

// fileMode is how a mode is written: three octal digits, with or without a zero
// before them. The owner, which is the node itself, reads and writes.
var fileMode = regexp.MustCompile(`^0?[67][0-7][0-7]$`)

// Mode reads the permission bits of a socket.
func (n Node) Mode() fs.FileMode {
	text, ok := n.Word()
	if !ok {
		return 0
	}
	if !fileMode.MatchString(text) {
		n.Wrong("invalid socket mode "+Clip(text), "use octal digits such as 0660 (owner and group may connect)")
		return 0
	}
	bits, _ := strconv.ParseUint(text, 8, 16) // three octal digits
	return fs.FileMode(bits)
}

// Group reads a group's name or number.
func (n Node) Group() string {
	text, ok := n.Word()
	if ok && !groupName.MatchString(text) {
		n.Wrong(fmt.Sprintf("invalid group %q", Clip(text)), "use a name such as edgeguard-admin")
	}
	return text
}

var groupName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Header reads a header's name.
func (n Node) Header() string {
	text, ok := n.Text()
	if ok && strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }) {
		n.Wrong(fmt.Sprintf("invalid header %q", Clip(text)), "use a name such as X-Real-IP")
	}
	return text
}
