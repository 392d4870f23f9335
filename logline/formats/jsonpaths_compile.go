package formats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// JSONPathsPrefix begins a format of paths.
const JSONPathsPrefix = "json:"

const (
	maxDepth = 8  // of a path
	maxPaths = 64 // of a format
)

// JSONPaths say where the fields of a JSON line are, by the paths that an operator gives:
// those of the Elastic Common Schema, of a cloud's logging, of a program's own.
//
//	json:addr=source.ip,time=@timestamp,path=url.original,status=http.response.status_code
//
// A path leads through objects, also where their names are written as one
// ("source.ip"). What is beside the paths is passed over, whatever its names are.
// The paths must lead to what the server knows: a header is a client's. They are
// immutable and safe for concurrent use.
type JSONPaths struct {
	root  pathNode
	count int
	kinds edgeguard.Kind
	// marked says that only lines are counted that a condition gives a kind.
	marked bool
}

// pathNode is a name on the way of a path.
type pathNode struct {
	name string
	next []*pathNode
	// Of a path that ends here: the part that is here, and the values that make a
	// line an event of a kind.
	part  scan.LinePart
	marks []pathMark
}

// pathMark is a value that makes a line an event of a kind; with prefix, its beginning
// does.
type pathMark struct {
	kind   edgeguard.Kind
	value  string
	prefix bool
}

// pathParts are the parts that a path can lead to, and pathPartNames their names, in the same order.
var (
	pathParts = []scan.LinePart{scan.PartAddr, scan.PartTime, scan.PartRequest, scan.PartMethod, scan.PartPath, scan.PartHost,
		scan.PartAgent, scan.PartStatus, scan.PartPort, scan.PartNode}
	pathPartNames = []string{"addr", "time", "request_line", "method", "path", "host", "user_agent", "status", "port", "node"}
)

const pathsHint = "write json:addr=PATH,time=PATH, and more fields or conditions such as auth_failure=PATH=VALUE"

// ParseJSONPaths reads json:FIELD=PATH,KIND=PATH=VALUE,… as an operator writes it.
func ParseJSONPaths(s string) (*JSONPaths, error) {
	p := &JSONPaths{}
	var given [scan.Parts]bool
	for pair := range strings.SplitSeq(strings.TrimPrefix(s, JSONPathsPrefix), ",") {
		name, path, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || path == "" {
			return nil, fmt.Errorf("%q is not FIELD=PATH: %s", scan.Printable([]byte(pair)), pathsHint)
		}
		if kind, ok := edgeguard.ParseKind(name); ok {
			if err := p.mark(kind, path); err != nil {
				return nil, err
			}
			continue
		}
		if name == "agent" {
			name = "user_agent"
		}
		i := slices.Index(pathPartNames, name)
		if i < 0 {
			return nil, fmt.Errorf("unknown field %q: use %s, or a kind of event (%s)", scan.Printable([]byte(name)), strings.Join(pathPartNames, ", "), strings.Join(edgeguard.Kinds(), ", "))
		}
		part := pathParts[i]
		if given[part] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		given[part] = true
		n, err := p.find(path)
		if err != nil {
			return nil, err
		}
		if n.part != scan.PartNone {
			return nil, fmt.Errorf("%s cannot be both %s and %s", scan.Printable([]byte(path)), pathPartNames[slices.Index(pathParts, n.part)], name)
		}
		n.part = part
	}
	if !given[scan.PartAddr] || !given[scan.PartTime] {
		return nil, errors.New("addr= and time= are required: " + pathsHint)
	}
	if !p.marked {
		if p.kinds = edgeguard.KindRequest; given[scan.PartStatus] {
			p.kinds |= edgeguard.KindResponse
		}
	}
	return p, nil
}

// mark adds a condition: PATH=VALUE, PATH=VALUE|VALUE, or PATH=BEGINNING*.
func (p *JSONPaths) mark(kind edgeguard.Kind, condition string) error {
	path, values, found := strings.Cut(condition, "=")
	if !found {
		return fmt.Errorf("%v=%s has no value: write %v=PATH=VALUE", kind, scan.Printable([]byte(condition)), kind)
	}
	n, err := p.find(path)
	if err != nil {
		return err
	}
	for value := range strings.SplitSeq(values, "|") {
		text, prefix := strings.CutSuffix(value, "*")
		n.marks = append(n.marks, pathMark{kind, text, prefix})
	}
	p.kinds |= kind
	p.marked = true
	return nil
}

// find returns the node at the end of a path, and makes it.
func (p *JSONPaths) find(path string) (*pathNode, error) {
	if p.count++; p.count > maxPaths {
		return nil, fmt.Errorf("more than %d paths", maxPaths)
	}
	n, depth := &p.root, 0
	for name := range strings.SplitSeq(path, ".") {
		if depth++; name == "" || depth > maxDepth {
			return nil, fmt.Errorf("%q is not a path: write names with dots between, at most %d", scan.Printable([]byte(path)), maxDepth)
		}
		i := slices.IndexFunc(n.next, func(c *pathNode) bool { return c.name == name })
		if i < 0 {
			i = len(n.next)
			n.next = append(n.next, &pathNode{name: name})
		}
		n = n.next[i]
	}
	return n, nil
}

// at returns the node of a member's name, which may be several names of the path
// in one; nil if no path leads there.
func (n *pathNode) at(key []byte) *pathNode {
	for _, c := range n.next {
		if string(key) == c.name {
			return c
		}
		if len(key) > len(c.name) && key[len(c.name)] == '.' && string(key[:len(c.name)]) == c.name {
			if found := c.at(key[len(c.name)+1:]); found != nil {
				return found
			}
		}
	}
	return nil
}

// Kinds returns what a line can be reported as.
func (p *JSONPaths) Kinds() edgeguard.Kind { return p.kinds }

// Parser returns the parser of one log. Zone is that of times that name none.
func (p *JSONPaths) Parser(zone *time.Location) scan.LineParser {
	return &pathsParser{paths: p, Clock: scan.Clock{Zone: zone}}
}
