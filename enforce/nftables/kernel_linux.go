package nftables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const (
	// writeBuffer holds a whole transaction, which is one message to the kernel, and
	// readBuffer its answers.
	writeBuffer = 64 << 20
	readBuffer  = 4 << 20
)

// kernel is a connection to one network namespace's packet filter. It is kept: when one
// is closed, the kernel first waits until everything that was deleted before is gone,
// which takes some milliseconds.
type kernel struct {
	netns int            // 0 is this process's
	nft   *nftables.Conn // nil: not connected
	raw   *netlink.Conn  // what nft speaks through
}

// connect returns the connection, ready for one exchange. That has a deadline, because
// the library waits for as many answers as it sent messages, and the kernel sends one
// where it refuses them all.
func (k *kernel) connect() (*nftables.Conn, error) {
	if k.nft == nil {
		nft, err := nftables.New(nftables.AsLasting(), nftables.WithNetNSFd(k.netns), nftables.WithSockOptions(k.prepare))
		if err != nil {
			return nil, explain(err)
		}
		k.nft = nft
	}
	return k.nft, k.raw.SetDeadline(time.Now().Add(timeout))
}

func (k *kernel) prepare(c *netlink.Conn) error {
	k.raw = c
	err := errors.Join(
		// An error's answer would hold the message that it is about.
		c.SetOption(netlink.CapAcknowledge, true),
		c.SetWriteBuffer(writeBuffer), c.SetReadBuffer(readBuffer),
		c.SetDeadline(time.Now().Add(timeout)), widen(c),
	)
	if err != nil {
		_ = c.Close() // the library forgets it
	}
	return err
}

// widen has the kernel answer in parts of 32 KiB, which are the largest: for each part
// of a set it walks the set from its beginning. Its parts are as long as the longest
// buffer that a message was received into, and the library's is a page.
func widen(c *netlink.Conn) error {
	asked, err := c.Send(askGeneration)
	if err != nil {
		return err
	}
	socket, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = socket.Read(func(fd uintptr) (done bool) {
		_, _, failed = unix.Recvfrom(int(fd), make([]byte, 32<<10), unix.MSG_PEEK)
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	answer, err := c.Receive()
	if err != nil {
		return err
	}
	return netlink.Validate(asked, answer)
}

// askGeneration asks for the number of the rules in force.
var askGeneration = netlink.Message{
	Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN, Flags: netlink.Request},
	Data:   []byte{unix.AF_UNSPEC, unix.NFNETLINK_V0, 0, 0},
}

// closeConn closes the connection. After an error it must: answers may be on their way, and
// messages may wait.
func (k *kernel) closeConn() {
	if k.nft != nil {
		_ = k.nft.CloseLasting()
		k.nft, k.raw = nil, nil
	}
}

// generation returns the number of the rules in force. Each transaction of anyone
// raises it.
func (k *kernel) generation() (uint32, error) {
	if _, err := k.connect(); err != nil {
		return 0, err
	}
	answer, err := k.raw.Execute(askGeneration)
	if err != nil {
		return 0, explain(err)
	}
	for _, m := range answer {
		if len(m.Data) < 4 {
			continue
		}
		attributes, err := netlink.NewAttributeDecoder(m.Data[4:])
		if err != nil {
			return 0, err
		}
		attributes.ByteOrder = binary.BigEndian
		for attributes.Next() {
			if attributes.Type() == unix.NFTA_GEN_ID {
				return attributes.Uint32(), nil
			}
		}
	}
	return 0, errors.New("nftables: the kernel did not answer which rules are in force")
}

// hasDevice returns an error unless there is an interface of a name. Kernels since 6.16
// accept a chain for one that is not there.
func (k *kernel) hasDevice(name string) error {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{NetNS: k.netns})
	if err != nil {
		return explain(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: unix.IFLA_IFNAME, Data: []byte(name + "\x00")}})
	if err != nil {
		return err
	}
	_, err = c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETLINK, Flags: netlink.Request},
		Data:   append(make([]byte, unix.SizeofIfInfomsg), attributes...),
	})
	if errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("nftables: no interface %s: set enforce.nftables.device to one that this host has", name)
	}
	return explain(err)
}

// found is what the kernel has of a table.
type found struct {
	there, ours bool
	asleep      bool                // the table is dormant: no chain of it is in force
	tags        map[string][]string // comments of the rules of each chain
	sets        []*nftables.Set
	// other says that a table of ours has the name in the other family.
	other bool
}

// hasSet reports whether a set is there and is as we make it.
func (f *found) hasSet(set *nftables.Set) bool {
	return slices.ContainsFunc(f.sets, func(s *nftables.Set) bool { return sameSet(s, set) })
}

func sameSet(a, b *nftables.Set) bool {
	return a.Name == b.Name && a.HasTimeout == b.HasTimeout && a.Interval == b.Interval && a.KeyType.Bytes == b.KeyType.Bytes && a.IsMap == b.IsMap
}

// isLayout reports whether the table is as a layout makes it.
func (f *found) isLayout(l layout) bool {
	sets := l.emptySets()
	return f.ours && !f.asleep && !f.other && len(f.sets) == len(sets) && !slices.ContainsFunc(sets, func(s *nftables.Set) bool { return !f.hasSet(s) }) &&
		maps.EqualFunc(f.tags, l.ruleComments(), slices.Equal)
}

// readTable returns what the kernel has of a table.
func readTable(c *nftables.Conn, table *nftables.Table) (*found, error) {
	tables, err := c.ListTables()
	if err != nil {
		return nil, explain(err)
	}
	chains, err := c.ListChains()
	if err != nil {
		return nil, explain(err)
	}
	f := &found{tags: make(map[string][]string)}
	for _, t := range tables {
		if t.Name == table.Name && t.Family == table.Family {
			f.there, f.asleep = true, t.Flags != 0
		}
	}
	for _, chain := range chains {
		switch t := chain.Table; {
		case t.Name != table.Name:
		case t.Family == table.Family:
			f.ours = f.ours || chain.Name == mark
			f.tags[chain.Name] = nil
		case isFamily(t.Family) && chain.Name == mark:
			f.other = true
		}
	}
	if !f.ours {
		return f, nil
	}
	for name := range f.tags {
		rules, err := c.GetRules(table, &nftables.Chain{Name: name})
		if err != nil {
			return nil, explain(err)
		}
		for _, r := range rules {
			comment, _ := userdata.GetString(r.UserData, userdata.TypeComment)
			f.tags[name] = append(f.tags[name], comment)
		}
	}
	f.sets, err = c.GetSets(table)
	return f, explain(err)
}

func isFamily(f nftables.TableFamily) bool {
	return f == nftables.TableFamilyINet || f == nftables.TableFamilyNetdev
}

// explain says what to do about an error of the kernel.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("nftables: edgeguard may not change the packet filter: give the service CAP_NET_ADMIN (edgeguard snippets nftables): %w", err)
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("nftables: this kernel has no nftables: load its module (modprobe nf_tables) on the host: %w", err)
	case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EMSGSIZE):
		return fmt.Errorf("nftables: the list is too long for one message to the kernel: %w", err)
	}
	return fmt.Errorf("nftables: %w", err)
}
