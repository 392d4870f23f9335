// Package eventlog keeps what happened on disk, so that it is read after a restart and
// weeks later. It knows an entry's time, kind, rule and prefixes; the rest is its
// writer's, in a form of its own.
//
// Entries lie in three sections with a part of the bytes each, so that no flood of one sort
// moves another out. A section is a row of segments, each a file that only grows. A full one
// is sealed: an index of its prefixes, sorted, and a trailer with its times go behind its
// entries. The oldest goes when the section is full or its days are over.
//
//	Add (never waits) ─▶ pending ─▶ Flush, once a second ─▶ segment ─▶ sealed
//	Find: the sections' segments by times and index, merged by number
//
// A process that is killed loses what it has not flushed. What a power cut cost was
// written since the last sync: each flush syncs the changes by hand, a seal the others.
// A torn tail is cut when the log is opened. A disk that is full loses nothing but what
// does not fit into the pending bytes.
//
// # Format
//
// Numbers are little-endian.
//
//	file    = magic (8 bytes) frame… [row… trailer]
//	frame   = length (4) crc32c (4) payload
//	payload = number (8) time (8, Unix nanoseconds) kind, rule (a length byte each)
//	          prefixes (uvarint, then 17 bytes each) body
//	row     = prefix (17) offset of its frame (4), in ascending order
//	prefix  = the address, IPv4 as IPv6 maps it (16), length in these 128 bits (1)
package eventlog
