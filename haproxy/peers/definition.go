package peers

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"edgeguard/haproxy"
)

// maxElements is how many elements an array of a table may have, as in HAProxy.
const maxElements = 100

// KeyType is what a table's keys are.
type KeyType uint8

// The types of keys. Others have a fixed length, too.
const (
	Integer KeyType = 2
	IPv4    KeyType = 4
	IPv6    KeyType = 5
	String  KeyType = 6
	Binary  KeyType = 7
)

// fixedBytes are the lengths of the keys that have one length alone.
var fixedBytes = map[KeyType]uint64{Integer: 4, IPv4: 4, IPv6: 16}

// DataType is what a table stores for each key, by HAProxy's number.
type DataType uint8

// The data types that edgeguard names; forms has the others.
const (
	GPT0       DataType = 1
	HTTPReqCnt DataType = 9
	GPT        DataType = 22 // array
	GPC        DataType = 23 // array
	serverKey  DataType = 19
	knownTypes DataType = 27
)

// form is how a data type is on the wire: an array has a number of elements in its
// definition, a rate has a period, and three numbers for each value.
type form struct{ array, rate bool }

var forms = [knownTypes]form{
	3: {rate: true}, 5: {rate: true}, 8: {rate: true}, 10: {rate: true}, 12: {rate: true},
	14: {rate: true}, 16: {rate: true}, 18: {rate: true}, 21: {rate: true},
	GPT: {array: true}, GPC: {array: true}, 24: {array: true, rate: true},
	26: {rate: true},
}

// Stored is one data type of a table.
type Stored struct {
	Type     DataType
	Elements int           // of an array, else 1
	Period   time.Duration // of a rate
}

// numbers returns how many numbers of an update are its own.
func (s Stored) numbers() int {
	if forms[s.Type].rate {
		return 3 * s.Elements
	}
	return s.Elements
}

// Definition says what the updates of a table have. Who sends it may leave out what a
// table stores: the receiver keeps its own values of that.
type Definition struct {
	ID       uint64 // the sender's number of the table
	Name     string // begins with "/" if the table is of a section "peers"
	Key      KeyType
	KeyBytes int
	Stored   []Stored
	Expire   time.Duration // an entry is forgotten so long after its last update
	Newer    bool          // it has data types that are not known here; they come last
}

// Numbers returns how many numbers an update of the table has.
func (d *Definition) Numbers() (n int) {
	for _, s := range d.Stored {
		n += s.numbers()
	}
	return n
}

// Place returns at which place of [Update.Numbers] the first number of a data type
// is, and how many elements it has: 0 if the table does not store it.
func (d *Definition) Place(t DataType) (at, elements int) {
	for _, s := range d.Stored {
		if s.Type == t {
			return at, s.Elements
		}
		at += s.numbers()
	}
	return 0, 0
}

// readDefinition returns what a table definition says.
func readDefinition(m Message) (*Definition, error) {
	r := &reader{b: m.Body}
	d := &Definition{ID: r.varint("the table's ID")}
	size := r.varint("the length of its name")
	name := r.bytes(size, "its name")
	key, keyBytes := r.varint("the type of its keys"), r.varint("the length of its keys")
	types := r.varint("its data types")
	if err := r.missingPart(m.Kind); err != nil {
		return nil, err
	}
	if size == 0 || size > maxName || bytes.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("%s: a name of %d bytes, where 1 to %d are allowed: shorten the table's name in haproxy.cfg", m.Kind, size, maxName)
	}
	d.Name, d.Key, d.KeyBytes = string(name), KeyType(key), int(keyBytes)
	if want := fixedBytes[d.Key]; key > math.MaxUint8 || keyBytes > MaxMessage || want != 0 && keyBytes != want {
		return nil, fmt.Errorf("%s of %q: keys of type %d with %d bytes: this is not HAProxy's peers protocol 2.1", m.Kind, d.Name, key, keyBytes)
	}
	if len(r.restBytes()) > 0 {
		d.Expire = milliseconds(r.varint("the time after which entries expire"))
	}
	d.Newer = types>>knownTypes != 0
	d.readStored(r, types)
	if err := r.missingPart(m.Kind); err != nil {
		return nil, err
	}
	return d, d.check()
}

func (d *Definition) readStored(r *reader, types uint64) {
	for t := range knownTypes {
		if types>>t&1 == 0 {
			continue
		}
		s := Stored{Type: t, Elements: 1}
		f := forms[t]
		if (f.array || f.rate) && r.varint("a data type") != uint64(t) {
			r.fail("the parameters of the data types in their order")
		}
		if f.array {
			s.Elements = int(min(r.varint("the number of an array's elements"), maxElements+1))
		}
		if f.rate {
			s.Period = milliseconds(r.varint("the period of a rate"))
		}
		d.Stored = append(d.Stored, s)
	}
}

func (d *Definition) check() error {
	for _, s := range d.Stored {
		if s.Elements < 1 || s.Elements > maxElements {
			return fmt.Errorf("table %q: the array of type %d has not 1 to %d elements: this is not HAProxy's peers protocol 2.1", d.Name, s.Type, maxElements)
		}
	}
	return nil
}

// milliseconds returns a time of the wire, at most 2³² ms, which is 49 days.
func milliseconds(ms uint64) time.Duration {
	return time.Duration(min(ms, math.MaxUint32)) * time.Millisecond
}

// AppendDefinition returns b with d at its end.
func AppendDefinition(b []byte, d *Definition) []byte {
	b, start := begin(b, TableDefinition)
	b = haproxy.AppendVarint(b, d.ID)
	b = append(haproxy.AppendVarint(b, uint64(len(d.Name))), d.Name...)
	b = haproxy.AppendVarint(haproxy.AppendVarint(b, uint64(d.Key)), uint64(d.KeyBytes))
	var types uint64
	for _, s := range d.Stored {
		types |= 1 << s.Type
	}
	b = haproxy.AppendVarint(haproxy.AppendVarint(b, types), uint64(d.Expire.Milliseconds()))
	for _, s := range d.Stored {
		f := forms[s.Type]
		if f.array || f.rate {
			b = haproxy.AppendVarint(b, uint64(s.Type))
		}
		if f.array {
			b = haproxy.AppendVarint(b, uint64(s.Elements))
		}
		if f.rate {
			b = haproxy.AppendVarint(b, uint64(s.Period.Milliseconds()))
		}
	}
	return endMessage(b, start)
}
