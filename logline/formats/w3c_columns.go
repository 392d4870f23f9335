package formats

import (
	"errors"
	"fmt"
	"strings"

	"edgeguard/logline/scan"
)

// What a column may hold beside a [scan.LinePart].
const (
	colDate = scan.Parts + iota
	colTime // of day
	colSeconds
	colMillis
	colURI
	colStem
	colQuery
	colSentHost // in CloudFront the viewer's: cs(Host) is the distribution's name
	columns
)

// w3cColumnNames are those whose meaning is known. A header that names a client, such
// as x-forwarded-for, is not among them: clients write it.
// (https://learn.microsoft.com/en-us/windows/win32/http/w3c-logging,
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html)
var w3cColumnNames = map[string]scan.LinePart{
	"date": colDate, "time": colTime, "timestamp": colSeconds, "timestamp(ms)": colMillis,
	"c-ip": scan.PartAddr, "cs-method": scan.PartMethod,
	"cs-uri": colURI, "cs-uri-stem": colStem, "cs-uri-query": colQuery,
	"cs-host": scan.PartHost, "cs(host)": scan.PartHost, "x-host-header": colSentHost,
	"sc-status": scan.PartStatus, "cs(user-agent)": scan.PartAgent, "cs-user-agent": scan.PartAgent,
	"cs(referer)": scan.PartReferer, "cs-referer": scan.PartReferer,
	"s-port": scan.PartPort, "s-computername": scan.PartNode,
}

// w3cLayout is the columns of the rows, in their order.
type w3cLayout struct {
	columns []scan.LinePart
	why     scan.Reason // why no row of these columns can be read
}

const (
	noFields    scan.Reason = "no #Fields line before it: read the file from its beginning, or name the columns: w3c:date time c-ip …"
	w3cNoClient scan.Reason = "the #Fields line before it names no c-ip, the client's address: have the server log it"
	w3cNoTime   scan.Reason = "the #Fields line before it names no date and time: have the server log them"
	clientRow   scan.Reason = "the #Fields line before it begins with a column that clients write: have the server log date first"
	w3cTwice    scan.Reason = "the #Fields line before it names a column twice"
)

// parseW3CLayout reads the names of columns.
func parseW3CLayout(names string) w3cLayout {
	l := w3cLayout{}
	seen := [columns]bool{}
	for i, name := range strings.FieldsFunc(names, isBlank) {
		name = strings.ToLower(name)
		c := w3cColumnNames[name]
		if i == 0 && strings.HasPrefix(name, "cs") {
			l.why = clientRow
		}
		if c != scan.PartNone && seen[c] {
			l.why = w3cTwice
		}
		seen[c] = true
		l.columns = append(l.columns, c)
	}
	switch {
	case l.why != scan.Read:
	case !seen[scan.PartAddr]:
		l.why = w3cNoClient
	case !(seen[colDate] && seen[colTime] || seen[colSeconds] || seen[colMillis]):
		l.why = w3cNoTime
	}
	return l
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == ',' }

// W3CPrefix begins a format that names its columns.
const W3CPrefix = "w3c:"

// W3CColumns are the columns of rows that no #Fields line precedes.
type W3CColumns struct{ layout w3cLayout }

// ParseW3C reads w3c:COLUMN COLUMN …, with #Fields: before the columns or without.
func ParseW3C(s string) (*W3CColumns, error) {
	s = strings.TrimSpace(strings.TrimPrefix(s, W3CPrefix))
	l := parseW3CLayout(strings.TrimSpace(strings.TrimPrefix(s, w3cFields)))
	if len(l.columns) == 0 {
		return nil, errors.New("name the columns as the log's #Fields line does: w3c:date time c-ip cs-method …")
	}
	if l.why != scan.Read {
		return nil, fmt.Errorf("%s", strings.Replace(string(l.why), "the #Fields line before it", "it", 1))
	}
	return &W3CColumns{l}, nil
}
