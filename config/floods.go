package config

import (
	"edgeguard/config/key"
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

func (f *Floods) keys() key.List {
	return key.List{
		key.Whole("sources", &f.Sources, 0, mostFloodSources, "so many fresh sources a second are a flood; `0`: no such number"),
		key.Whole("times", &f.Times, 0, mostFloodTimes, "so many times the usual (the mean of 10 minutes) are one too, from 100 a second on; `0`: no such number"),
	}
}

func (f *Floods) write(p *yaml.Printer, path string) {
	p.Field(0, "floods", f.keys().Flow(p, path)+" # fresh forgeable sources a second; times the usual")
}
