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

// JSONPaths say where the fields of a line are. They are immutable and safe for
// concurrent use.
type JSONPaths struct {
	root  node
	count int
	kinds edgeguard.Kind
	// marked says that only lines are counted that a condition gives a kind.
	marked bool
}

// node is a name on the way of a path.
type node struct {
	name string
	next []*node
	// Of a path that ends here: the field that is here, and the values that make a
	// line an event of a kind.
	field field
	marks []mark
}

// mark is a value that makes a line an event of a kind; with prefix, its beginning
// does.
type mark struct {
	kind   edgeguard.Kind
	value  string
	prefix bool
}

type field uint8

const (
	noField field = iota
	addrField
	timeField
	requestField
	methodField
	pathField
	hostField
	agentField
	statusField
	portField
	nodeField
	fields
)

var fieldNames = [fields]string{"", "addr", "time", "request_line", "method", "path", "host", "user_agent", "status", "port", "node"}

const hint = "write json:addr=PATH,time=PATH, and more fields or conditions such as auth_failure=PATH=VALUE"

// ParseJSONPaths reads json:FIELD=PATH,KIND=PATH=VALUE,… as an operator writes it.
func ParseJSONPaths(s string) (*JSONPaths, error) {
	p := &JSONPaths{}
	given := make(map[field]bool)
	for pair := range strings.SplitSeq(strings.TrimPrefix(s, JSONPathsPrefix), ",") {
		name, path, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || path == "" {
			return nil, fmt.Errorf("%q is not FIELD=PATH: %s", scan.Printable([]byte(pair)), hint)
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
		f := field(max(slices.Index(fieldNames[:], name), 0))
		if f == noField {
			return nil, fmt.Errorf("unknown field %q: use %s, or a kind of event (%s)", scan.Printable([]byte(name)), strings.Join(fieldNames[1:], ", "), strings.Join(edgeguard.Kinds(), ", "))
		}
		if given[f] {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		given[f] = true
		n, err := p.find(path)
		if err != nil {
			return nil, err
		}
		if n.field != noField {
			return nil, fmt.Errorf("%s cannot be both %s and %s", scan.Printable([]byte(path)), fieldNames[n.field], name)
		}
		n.field = f
	}
	if !given[addrField] || !given[timeField] {
		return nil, errors.New("addr= and time= are required: " + hint)
	}
	if !p.marked {
		if p.kinds = edgeguard.KindRequest; given[statusField] {
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
		n.marks = append(n.marks, mark{kind, text, prefix})
	}
	p.kinds |= kind
	p.marked = true
	return nil
}

// find returns the node at the end of a path, and makes it.
func (p *JSONPaths) find(path string) (*node, error) {
	if p.count++; p.count > maxPaths {
		return nil, fmt.Errorf("more than %d paths", maxPaths)
	}
	n, depth := &p.root, 0
	for name := range strings.SplitSeq(path, ".") {
		if depth++; name == "" || depth > maxDepth {
			return nil, fmt.Errorf("%q is not a path: write names with dots between, at most %d", scan.Printable([]byte(path)), maxDepth)
		}
		i := slices.IndexFunc(n.next, func(c *node) bool { return c.name == name })
		if i < 0 {
			i = len(n.next)
			n.next = append(n.next, &node{name: name})
		}
		n = n.next[i]
	}
	return n, nil
}

// at returns the node of a member's name, which may be several names of the path
// in one; nil if no path leads there.
func (n *node) at(key []byte) *node {
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
	return &pathsParser{paths: p, clock: scan.Clock{Zone: zone}}
}
