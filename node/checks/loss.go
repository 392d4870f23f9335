package checks

import (
	"fmt"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// Loss returns how many lines were lost between two looks at a log, at least, and
// a text that says what to do about it; empty where nothing was lost. Removed
// bytes are one line. A file that was emptied in place is always reported: what it
// lost cannot be known.
func Loss(before, after *admin.Log) (lines uint64, text string) {
	lines = after.Lost - min(after.Lost, before.Lost)
	if after.LostBytes > before.LostBytes {
		lines++
	}
	return lines, lossText(before, after)
}

// linesFix says how no line is lost on its way.
const linesFix = "raise net.unix.max_dgram_qlen to 4096 and restart edgeguard, then net.core.wmem_default to 8388608 and restart the server that logs (by UDP: net.core.rmem_max, and receive_buffer; of a ring in haproxy.cfg: its size); follow a file; or have HAProxy log by a ring, as `edgeguard snippets haproxy-peers` prints it, or ask by SPOE"

// Dropped returns what to report of lines that HAProxy could not send between two looks
// at a log; empty for none. It counts those for all its log servers.
func Dropped(before, after *admin.Log) string {
	if after.Dropped <= before.Dropped {
		return ""
	}
	return fmt.Sprintf("at most %s lost: HAProxy could not send so many, to this or another of its log servers (DroppedLogs of show info); %s",
		words.Plural(after.Dropped-before.Dropped, "line was", "lines were"), linesFix)
}

func lossText(before, after *admin.Log) string {
	const rename = "rotate it by renaming (logrotate: create, not copytruncate)"
	switch {
	case after.Lost > before.Lost:
		return fmt.Sprintf("at least %s lost: %s", words.Plural(after.Lost-before.Lost, "line was", "lines were"), linesFix)
	case after.LostBytes > before.LostBytes:
		return fmt.Sprintf("%d bytes were removed before they were read: %s", after.LostBytes-before.LostBytes, rename)
	case after.Gaps > before.Gaps:
		return "a file was removed, or could not be opened, before all of it was read: the rest of its lines is lost; keep the newest rotated files, readable and uncompressed (logrotate: delaycompress)"
	case after.Truncations > before.Truncations:
		return "it was emptied in place: lines written between the copy and that moment are lost and not counted; " + rename
	}
	return ""
}
