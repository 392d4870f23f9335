package enforce

import (
	"bufio"
	"strconv"
	"time"
)

const (
	// ipsetMax is each set's bound. It takes no memory by itself, and is fixed,
	// because ipset refuses to declare a set again with another one.
	ipsetMax = 1 << 22
	// ipsetLongest is the longest timeout that ipset takes, in seconds: about
	// 24 days. The file is written again daily.
	ipsetLongest = 2_147_483
)

// writeIPSet writes a script in which each family's set (NAME4, NAME6) is
// filled beside the one in force and swapped in: a script that is cut short
// changes nothing.
func writeIPSet(w *bufio.Writer, name string, now time.Time, entries []Entry) {
	v4 := 0
	for v4 < len(entries) && entries[v4].Prefix.Addr().Is4() {
		v4++
	}
	writeIPSetFamily(w, name+"4", "inet", now, entries[:v4])
	writeIPSetFamily(w, name+"6", "inet6", now, entries[v4:])
}

func writeIPSetFamily(w *bufio.Writer, set, family string, now time.Time, entries []Entry) {
	for _, s := range []string{set, set + "_new"} {
		w.WriteString("create " + s + " hash:net family " + family +
			" maxelem " + strconv.Itoa(ipsetMax) + " timeout 0 -exist\n")
	}
	w.WriteString("flush " + set + "_new\n")
	for _, e := range entries {
		w.WriteString("add " + set + "_new ")
		writePrefix(w, e.Prefix)
		w.WriteString(" timeout ")
		w.Write(strconv.AppendInt(w.AvailableBuffer(), min(secondsLeft(now, e.Until), ipsetLongest), 10))
		w.WriteString(" -exist\n")
	}
	w.WriteString("swap " + set + "_new " + set + "\ndestroy " + set + "_new\n")
}
