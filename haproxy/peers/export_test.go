package peers

import "fmt"

// AppendHello returns b with the three lines of h.
func AppendHello(b []byte, h Hello) []byte {
	return fmt.Appendf(b, "%s %s\n%s\n%s %d 1\n", protocol, version, h.To, h.From, h.PID)
}

// ReadAcknowledge returns what an acknowledge says of a table that we defined.
func ReadAcknowledge(m Message) (table uint64, update uint32, err error) {
	r := reader{b: m.Body}
	table, update = r.varint("the table's ID"), r.uint32("the update's ID")
	return table, update, r.missingPart(m.Kind)
}
