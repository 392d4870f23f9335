package packet

import "math/bits"

// iface is one interface that a pcapng describes.
type iface struct {
	link LinkType
	snap uint32 // longest packet it captures; 0 for no bound
	// A time is a count of units since the epoch, units of them in a second:
	// 10^n or 2^n.
	units  uint64
	offset int64 // seconds to add
}

// The options of an interface that matter.
const (
	optionEnd        = 0
	optionResolution = 9
	optionOffset     = 14
)

// parseInterface reads an interface's block, or says what is wrong with it.
func parseInterface(o order, b []byte) (iface, string) {
	if len(b) < 8 {
		return iface{}, "an interface's block is too short"
	}
	i := iface{link: LinkType(o.uint16(b)), snap: o.uint32(b[4:]), units: 1e6}
	for b = b[8:]; len(b) >= 4; {
		code, length := o.uint16(b), int(o.uint16(b[2:]))
		padded := 4 + (length+3)&^3
		if code == optionEnd {
			break
		}
		if padded > len(b) {
			return iface{}, "an option of an interface is longer than its block"
		}
		switch value := b[4 : 4+length]; {
		case code == optionResolution && length == 1:
			if !i.resolve(value[0]) {
				return iface{}, "an interface's times are finer than 64 bits can say"
			}
		case code == optionOffset && length == 8:
			i.offset = o.int64(value)
		}
		b = b[padded:]
	}
	return i, ""
}

// resolve sets the unit of time: 10^-v seconds, or with the top bit 2^-v.
func (i *iface) resolve(v byte) bool {
	n := v & 0x7f
	if v&0x80 != 0 {
		i.units = 1 << n
		return n < 64
	}
	i.units = 1
	for range min(n, 20) {
		i.units *= 10
	}
	return n < 20
}

// time turns a count of units into seconds and nanoseconds since the epoch.
func (i *iface) time(count uint64) (sec, nsec int64) {
	switch {
	case i.units == 1e6: // nearly all: a division by a constant
		return int64(count/1e6) + i.offset, int64(count%1e6) * 1000
	case i.units == 1e9:
		return int64(count/1e9) + i.offset, int64(count % 1e9)
	}
	whole, part := count/i.units, count%i.units
	high, low := bits.Mul64(part, 1e9)
	quotient, _ := bits.Div64(high, low, i.units) // part < units, so high < units
	return int64(whole) + i.offset, int64(quotient)
}
