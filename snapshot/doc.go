// Package snapshot keeps what a node knows on disk, so that a restart continues
// where the last run stopped. That is the windows of every meter, the blocks and
// their tombstones, the blocks that await confirmation, how often each key was
// blocked before, and how far each log was read. In files of their own,
// written only when that has changed, it is why keys were blocked, and how counts were
// distributed during the last day.
//
// Save and load:
//
//	Create ─ Meter ─ Window… ─ Block… ─ Step… ─ Position… ─ Commit
//	Load: check the whole file, then pass every record to a Sink
//
// A [Writer] streams into a temporary file beside the old one; Commit syncs
// it, renames it over the old one, and syncs the folder. A reader sees the old
// file or the new one, whenever a crash comes. [LoadFile] reads twice, first to
// check and then to pass on: nothing of a file that is torn, foreign, of
// another version or from the future is ever used. Such a file is renamed, and the
// error says to what.
//
// Neither holds more than a frame in memory, 64 KiB, whatever a file claims.
//
// The file is good by the wall clock: slots are numbers of epoch slots and
// times are the epoch's. What has left the window at the time of loading, and
// blocks that have expired, are left out.
//
// It is not a table, a list or a clock: records are plain values that the
// caller takes from them and puts back. Whether the records are one cut is
// the caller's business: it lets nothing count that could be counted twice
// (lines of a log whose position is saved) between the first record and the
// last. Commit, which waits for the disk, can come after that. It starts no
// goroutine and logs nothing.
//
// # Format
//
// Numbers are little-endian; "uvarint" and "varint" are encoding/binary's.
//
//	file   = magic (14 bytes) version (2) frame… end
//	frame  = kind (1) length (4) payload crc32c (4, of all before in the frame)
//	end    = a frame of kind "E": four counts (8 each) and the xxhash64 of all
//	         bytes before the frame
//
// A payload holds whole records of its kind and at most 64 KiB of them: "H"
// the head, once and first; "M" one meter; "W" windows of the meter before;
// "B" blocks; "T" steps; "P" positions; "V" evidence; "D" distributions;
// "N" notes. Records have no length of their own. A version refuses a file with a kind
// that it does not know.
package snapshot
