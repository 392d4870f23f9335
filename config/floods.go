package config

import (
	"fmt"

	"edgeguard/config/yaml"
)

// Floods says when fresh sources whose address can be forged are a spoofed flood:
// see edgeguard/detector/flood.
type Floods struct {
	Sources uint32 // a second, that begin one; 0 for no such number
	Times   uint32 // as many as usual begin one; 0 for no such number
}

// mostFloodSources and mostFloodTimes are what they may be.
const mostFloodSources, mostFloodTimes = 100_000_000, 1000

func (f *Floods) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"sources": func(n yaml.Node) { f.Sources = n.Whole(0, mostFloodSources) },
		"times":   func(n yaml.Node) { f.Times = n.Whole(0, mostFloodTimes) },
	})
}

func (p *printer) floods(f Floods) {
	p.Field(0, "floods", fmt.Sprintf("{sources: %d, times: %d} # fresh forgeable sources a second; times the usual", f.Sources, f.Times))
}
