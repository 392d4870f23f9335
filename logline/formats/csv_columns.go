package formats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard/logline/scan"
)

// CSVColumns says which columns of a delimited file hold what:
//
//	csv:time=datetime,addr=src,node=host
//
// names the column of each field we know: time and addr, which it must have,
// and node, host, method, path, status, agent, port, referer, fetch_site. sep= gives another
// delimiter (a character, or tab, space, comma, semicolon, pipe); csv;: does so
// too. The page of package logline says what else it takes.
type CSVColumns struct {
	sep     byte
	columns [scan.Parts]string
}

// csvFieldNames are those of the parts that a column can be; the first is of none.
var csvFieldNames = []string{"", "time", "addr", "node", "host", "method", "path", "status", "agent", "port", "referer", "fetch_site"}

var csvSeparators = map[string]byte{"tab": '\t', "space": ' ', "comma": ',', "semicolon": ';', "pipe": '|'}

// ParseCSV reads csv[SEP]:FIELD=COLUMN,… as an operator writes it.
func ParseCSV(s string) (*CSVColumns, error) {
	c := &CSVColumns{sep: ','}
	head, list, found := strings.Cut(s, ":")
	if !found || list == "" {
		return nil, errors.New("name the columns: csv:time=COLUMN,addr=COLUMN (auto knows the usual names)")
	}
	if sep := strings.TrimPrefix(head, "csv"); sep != "" {
		if err := c.setSep(sep); err != nil {
			return nil, err
		}
	}
	for _, pair := range strings.Split(list, ",") {
		if err := c.set(pair); err != nil {
			return nil, err
		}
	}
	if c.columns[scan.PartTime] == "" || c.columns[scan.PartAddr] == "" {
		return nil, errors.New("time= and addr= are required, the rest is optional")
	}
	return c, nil
}

// Parser returns the parser of one log. Zone is that of times that name none.
func (c *CSVColumns) Parser(zone *time.Location) scan.LineParser {
	return &csvParser{format: c, Clock: scan.Clock{Zone: zone}}
}

func (c *CSVColumns) set(pair string) error {
	name, column, found := strings.Cut(pair, "=")
	name, column = strings.TrimSpace(name), strings.TrimSpace(column)
	if !found || column == "" {
		return fmt.Errorf("%q is not FIELD=COLUMN", pair)
	}
	if name == "sep" {
		return c.setSep(column)
	}
	i := slices.Index(csvFieldNames, name)
	if i <= 0 {
		return fmt.Errorf("unknown field %q: use %s or sep", name, strings.Join(csvFieldNames[1:], ", "))
	}
	if c.columns[i] != "" {
		return fmt.Errorf("%q is given twice", name)
	}
	c.columns[i] = column
	return nil
}

func (c *CSVColumns) setSep(s string) error {
	sep, named := csvSeparators[s]
	if !named {
		if len(s) != 1 || s[0] == '"' || scan.IsAlnum(s[0]) {
			return fmt.Errorf("invalid delimiter %q: use one character, or tab, space, comma, semicolon, pipe", s)
		}
		sep = s[0]
	}
	c.sep = sep
	return nil
}
