package formats

import (
	"bytes"
	"slices"
	"strings"

	"edgeguard/logline/scan"
)

// csvColumnNames are the usual names of columns, in small letters and digits alone. A host
// is not among them: see hostColumn.
var csvColumnNames = [scan.Parts][]string{
	scan.PartTime:   {"time", "datetime", "timestamp", "ts", "eventtime"},
	scan.PartAddr:   {"src", "srcip", "srcaddr", "saddr", "source", "sourceip", "sourceaddress", "client", "clientip", "clientaddr", "remoteaddr", "remoteip", "ip", "ipaddress", "addr", "address"},
	scan.PartNode:   {"node", "sensor"},
	scan.PartMethod: {"method", "requestmethod", "verb"},
	scan.PartPath:   {"path", "uri", "url", "requesturi", "urioriginal"},
	scan.PartStatus: {"status", "statuscode", "httpstatus"},
	scan.PartAgent:  {"agent", "useragent"},
	scan.PartPort:   {"dpt", "dport", "dstport", "destport", "destinationport"},
}

// RecognizeCSV returns the format of a delimited file by the names of its columns, as
// an operator would write it; empty if they do not say which one holds the time
// and which one the address. Two columns that both could be are no answer.
func RecognizeCSV(header []byte) string {
	for _, name := range []string{"comma", "tab", "semicolon", "pipe"} {
		sep := csvSeparators[name]
		if bytes.IndexByte(header, sep) < 0 {
			continue
		}
		if format := recognizeColumns(strings.Split(string(header), string(sep))); format != "" {
			return "csv:" + format + ",sep=" + name
		}
	}
	return ""
}

func recognizeColumns(columns []string) string {
	var pairs []string
	var found [scan.Parts]bool
	host := ""
	for _, column := range columns {
		column = strings.Trim(strings.TrimSpace(column), `"`)
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune("-_ .@()", r) {
				return -1
			}
			return r
		}, strings.ToLower(column))
		if plain == "host" {
			host = column
		}
		for f := range scan.Parts {
			if !slices.Contains(csvColumnNames[f], plain) {
				continue
			}
			if found[f] {
				return ""
			}
			found[f] = true
			pairs = append(pairs, csvFieldNames[f]+"="+column)
		}
	}
	if !found[scan.PartTime] || !found[scan.PartAddr] {
		return ""
	}
	if f := hostColumn(&found); host != "" && !found[f] {
		pairs = append(pairs, csvFieldNames[f]+"="+host)
	}
	return strings.Join(pairs, ",")
}

// hostColumn returns what a column "host" holds: beside a path what a client asked
// for, and beside ports the sensor. Otherwise nobody knows, and time is returned,
// which is taken already.
func hostColumn(found *[scan.Parts]bool) scan.LinePart {
	switch {
	case found[scan.PartPath]:
		return scan.PartHost
	case found[scan.PartPort]:
		return scan.PartNode
	}
	return scan.PartTime
}
