package peers

import (
	"net/netip"
	"time"

	"edgeguard/haproxy"
)

// Update is one entry of a table. It is made to be used again: its key is a part of
// the message, and its numbers are overwritten by the next.
type Update struct {
	Table   *Definition
	ID      uint32 // of the entry's last change. IDs jump and wrap: never compare with <
	Timed   bool
	TTL     time.Duration // what is left of the entry's time, of a timed update
	Key     []byte
	Numbers []uint64 // in the order of the definition: see [Definition.Place]
}

// Addr returns the key as an address: IPv4 in an IPv6 table, too. It is the zero
// address if the keys are none.
func (u *Update) Addr() netip.Addr {
	if u.Table.Key != IPv4 && u.Table.Key != IPv6 {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice(u.Key)
	return addr.Unmap()
}

// readMessage fills u from a message of a table. last is the ID of the update before it.
func (u *Update) readMessage(m Message, table *Definition, last uint32) error {
	r := reader{b: m.Body}
	u.Table, u.ID, u.Timed, u.TTL = table, last+1, false, 0
	if m.Kind == UpdateWithID || m.Kind == TimedUpdateWithID {
		u.ID = r.uint32("its ID")
	}
	if m.Kind == TimedUpdateWithID || m.Kind == TimedUpdateNext {
		u.Timed, u.TTL = true, time.Duration(r.uint32("its time to live"))*time.Millisecond
	}
	size := uint64(table.KeyBytes)
	if table.Key == String {
		size = r.varint("the length of its key")
	}
	u.Key = r.bytes(size, "its key")
	u.Numbers = u.Numbers[:0]
	for _, s := range table.Stored {
		if s.Type == serverKey { // a text, or its number in a dictionary
			r.bytes(r.varint("the length of a server's key"), "a server's key")
			u.Numbers = append(u.Numbers, 0)
			continue
		}
		for range s.numbers() {
			u.Numbers = append(u.Numbers, r.varint("its last number"))
		}
	}
	return r.missingPart(m.Kind)
}

// AppendUpdate returns b with u at its end, with its ID. u must have as many numbers
// as its table, and a key of its table's length.
func AppendUpdate(b []byte, u *Update) []byte {
	kind := UpdateWithID
	if u.Timed {
		kind = TimedUpdateWithID
	}
	b, start := begin(b, kind)
	b = appendUint32(b, u.ID)
	if u.Timed {
		b = appendUint32(b, uint32(u.TTL.Milliseconds()))
	}
	if u.Table.Key == String {
		b = haproxy.AppendVarint(b, uint64(len(u.Key)))
	}
	b = append(b, u.Key...)
	for _, v := range u.Numbers {
		b = haproxy.AppendVarint(b, v)
	}
	return endMessage(b, start)
}

// Entry is what a table of addresses with one number is taught.
type Entry struct {
	Key   netip.Addr
	Value uint32
	TTL   time.Duration // rounded to milliseconds, at most 49 days
}

// Taught is an entry of one of several tables, by its place among them.
type Taught struct {
	Table int
	Entry
}

// addresses is a table of addresses, as far as an update goes.
var addresses = Definition{Key: IPv6}

// AppendEntry returns b with a timed update of a table of type [IPv6] and one number.
func AppendEntry(b []byte, id uint32, e Entry) []byte {
	key := e.Key.As16()
	return AppendUpdate(b, &Update{Table: &addresses, ID: id, Timed: true, TTL: min(max(e.TTL, 0), maxTTL), Key: key[:], Numbers: []uint64{uint64(e.Value)}})
}

// maxTTL keeps a time below 2³¹ ms, which HAProxy reads as a signed number.
const maxTTL = (1<<31 - 1) * time.Millisecond
