// Package unsafetext converts between bytes and strings without a copy.
//
// The lifetime rule: what is returned is the argument's memory. It may be used
// only as long as the argument is neither changed nor reused, and it must not be
// kept past that: not in a map, not in a field that lives on. Where it has to be
// kept, use strings.Clone.
//
// It is for look-ups that end before the bytes change, and for the fields of an
// event, which are valid until the sensor's next event or batch.
package unsafetext

import "unsafe"

// String returns b as a string. B must not change while the string is in use.
func String(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Bytes returns s as bytes. They must only be read.
func Bytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
