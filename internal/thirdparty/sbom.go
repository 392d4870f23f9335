package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a list of a program's parts, as CycloneDX 1.5 has it.
type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Serial      string      `json:"serialNumber"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Timestamp time.Time `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licences   []licence  `json:"licenses"`
	URL        string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sbom returns the parts of a binary as JSON. The modules and Go's version are those
// that the binary itself names; each must be among parts, which has its licence.
func sbom(info *debug.BuildInfo, parts []part, version string, now time.Time) ([]byte, error) {
	this := part{name: "edgeguard", version: version}
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Components: []component{},
		Metadata: metadata{Timestamp: now, Component: describe(&this, "application", []string{"Apache-2.0"})},
	}
	find := func(name string) (*part, error) {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s is linked, and its licence is not known: run `make generate`", name)
		}
		return &parts[i], nil
	}
	for _, d := range info.Deps {
		p, err := find(d.Path)
		if err != nil {
			return nil, err
		}
		if p.version != d.Version {
			return nil, fmt.Errorf("%s %s is linked, and go.mod has %s: build it again", d.Path, d.Version, p.version)
		}
		c := describe(p, "library", p.licences())
		c.Properties = []property{{"go:sum", d.Sum}}
		b.Components = append(b.Components, c)
	}
	for i := range parts {
		p := parts[i]
		if p.name == "Go" {
			p.name, p.version = "std", strings.TrimPrefix(info.GoVersion, "go")
		} else if !p.npm {
			continue
		}
		b.Components = append(b.Components, describe(&p, "library", p.licences()))
	}
	b.Serial = serial(&b)
	text, err := json.MarshalIndent(&b, "", "  ")
	return append(text, '\n'), err
}

// describe returns a part as CycloneDX has it.
func describe(p *part, kind string, ids []string) component {
	url := "pkg:golang/"
	if p.npm {
		url = "pkg:npm/"
	}
	url += p.name + "@" + strings.ReplaceAll(p.version, "+", "%2B")
	c := component{Type: kind, Ref: url, Name: p.name, Version: p.version, Licences: []licence{}, URL: url}
	if p.sha512 != nil {
		c.Hashes = []hash{{"SHA-512", hex.EncodeToString(p.sha512)}}
	}
	for _, id := range ids {
		var l licence
		l.License.ID = id
		c.Licences = append(c.Licences, l)
	}
	return c
}

// serial returns a UUID that the content has, so that two builds give the same.
func serial(b *bill) string {
	text, _ := json.Marshal(b) // strings, numbers and a time
	sum := sha256.Sum256(text)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: of one's own making
	s := hex.EncodeToString(sum[:16])
	return "urn:uuid:" + strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
}
