package yaml

import (
	"net/netip"
	"strings"
)

// Printer writes settings as YAML that is read back to the same. A struct for the YAML encoder was rejected: its fields and
// the code that fills it are as long, and it neither quotes what starts with a
// digit nor writes each list item on one line.
type Printer struct {
	strings.Builder
	// Variables are texts of the config's file that name variables of the
	// environment, by path: they are written instead of their values.
	Variables map[string]string
}

// Field writes a field of a mapping.
func (p *Printer) Field(indent int, name, value string) {
	p.WriteString(strings.Repeat("  ", indent) + name + ":")
	if value != "" {
		p.WriteString(" " + value)
	}
	p.WriteByte('\n')
}

// Quote returns a path or an address as the file has it, with the names of its
// variables.
func (p *Printer) Quote(path, value string) string {
	if written, ok := p.Variables[PathText(path)]; ok {
		return Quote(written)
	}
	return Quote(EscapeVariables(value))
}

// Flow returns a list of such texts.
func (p *Printer) Flow(path string, values []string) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = p.Quote(ItemPath(path, i), value)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Prefixes returns a list of prefixes.
func (p *Printer) Prefixes(path string, prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return p.Flow(path, texts)
}
