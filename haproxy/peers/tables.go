package peers

import (
	"fmt"
	"slices"
)

// MaxTables is how many tables one connection may define.
const MaxTables = 256

// Tables is what the other side of a connection has defined, and which table its
// updates are of. The zero value is that of a new connection.
type Tables struct {
	byID    map[uint64]*table
	current *table
}

type table struct {
	*Definition
	last uint32 // the ID of the last update
}

// Define reads a definition. The next updates are of this table. A definition that is
// repeated, as HAProxy does before each table's updates, returns the same pointer.
func (t *Tables) Define(m Message) (*Definition, error) {
	d, err := readDefinition(m)
	if err != nil {
		return nil, err
	}
	known := t.byID[d.ID]
	switch {
	case known != nil && known.equal(d):
	case known == nil && len(t.byID) == MaxTables:
		return nil, fmt.Errorf("%s of %q: more than %d tables on one connection: give edgeguard a section \"peers\" of its own in haproxy.cfg", m.Kind, d.Name, MaxTables)
	default:
		if t.byID == nil {
			t.byID = map[uint64]*table{}
		}
		known = &table{Definition: d}
		t.byID[d.ID] = known
	}
	t.current = known
	return known.Definition, nil
}

func (d *Definition) equal(other *Definition) bool {
	return d.ID == other.ID && d.Name == other.Name && d.Key == other.Key && d.KeyBytes == other.KeyBytes &&
		d.Expire == other.Expire && d.Newer == other.Newer && slices.Equal(d.Stored, other.Stored)
}

// Switch reads a table switch. The next updates are of the table that it names.
func (t *Tables) Switch(m Message) (*Definition, error) {
	r := reader{b: m.Body}
	id := r.varint("the table's ID")
	if err := r.missingPart(m.Kind); err != nil {
		return nil, err
	}
	known := t.byID[id]
	if known == nil {
		return nil, fmt.Errorf("%s to table %d, which was not defined: this is not HAProxy's peers protocol 2.1", m.Kind, id)
	}
	t.current = known
	return known.Definition, nil
}

// Read fills u from an update of any of the four kinds. It allocates nothing once u
// has room for the table's numbers.
func (t *Tables) Read(m Message, u *Update) error {
	if t.current == nil {
		return fmt.Errorf("%s before the definition of a table: this is not HAProxy's peers protocol 2.1", m.Kind)
	}
	if err := u.readMessage(m, t.current.Definition, t.current.last); err != nil {
		return fmt.Errorf("table %q: %w", t.current.Name, err)
	}
	t.current.last = u.ID
	return nil
}
