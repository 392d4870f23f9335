package rules

import "unsafe"

// view is b as a string, without a copy: the normal forms are made on the
// stack and compared there. The string is never kept, and b is not written to
// while it is in use.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// viewBytes is the way back, for a hash that takes bytes and only reads them.
func viewBytes(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
