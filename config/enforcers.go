package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/config/yaml"
)

// Enforcers is the section `enforce`: the lists in which a node keeps its blocks for
// proxies and packet filters.
type Enforcers struct {
	Files    []ListFile
	HAProxy  *HAProxyACL // nil for none
	NFTables *NFTables   // nil for none
	// Lists behind somebody's API.
	AWSWAF     []AWSWAF
	Cloudflare []Cloudflare
}

// ListFile is a list that is kept in a file.
type ListFile struct {
	File   string
	Format string // one of listFormats
	// Name is the nft table, or the beginning of the ipset names.
	Name string
	// Kernel marks a plain list that ends up in a packet filter, which
	// formats ipset and nft do in any case.
	Kernel bool
	// Reload is run without a shell after the file has changed; nil for
	// nothing.
	Reload []string
	// Every is the shortest time between two updates.
	Every time.Duration
	// KeepRemoved leaves the list in force when the config no longer has it.
	KeepRemoved bool
}

// HAProxyACL is a list in a running HAProxy, changed through its stats socket.
type HAProxyACL struct {
	Socket string // a unix socket's path
	// ACL or Map is the file that haproxy.cfg names the list by, letter for
	// letter; one of them.
	ACL, Map string
	Every    time.Duration
	// KeepRemoved leaves the list in force when the config no longer has it.
	KeepRemoved bool
}

// listFormats are the formats of a list, as package enforce has them.
var listFormats = []string{"plain", "nginx", "nginx-geo", "haproxy", "haproxy-map", "ipset", "nft"}

// The shortest times between two updates: a proxy that is reloaded makes new
// workers each time, everything else is cheap.
const (
	everyReload    = 10 * time.Second
	everyUpdate    = time.Second
	leastListEvery = time.Second
)

// Names that the kernel's tools, and HAProxy's commands, take as they are.
var (
	listName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
	listID   = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+:=,~-]*$`)
)

// Read reads the section.
func (s *Enforcers) Read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"files":      func(n yaml.Node) { n.List(func(n yaml.Node) { s.Files = append(s.Files, s.readFile(n)) }) },
		"haproxy":    s.readHAProxy,
		"nftables":   func(n yaml.Node) { s.NFTables = readNFTables(n) },
		"awswaf":     func(n yaml.Node) { n.List(s.readAWSWAF) },
		"cloudflare": func(n yaml.Node) { n.List(s.readCloudflare) },
		"xdp":        yaml.NotSupported,
	})
}

func (s *Enforcers) readAWSWAF(n yaml.Node) {
	a := readAWSWAF(n)
	for _, other := range s.AWSWAF {
		if a.V4.ID != "" && a.V4 == other.V4 || a.V6.ID != "" && a.V6 == other.V6 {
			n.Wrong("has an IP set of another entry", "give each its own sets: they would empty each other's")
		}
	}
	s.AWSWAF = append(s.AWSWAF, a)
}

func (s *Enforcers) readCloudflare(n yaml.Node) {
	c := readCloudflare(n)
	if slices.ContainsFunc(s.Cloudflare, func(other Cloudflare) bool { return other.ID == c.ID && c.ID != "" }) {
		n.Wrong("has the list of another entry", "give each its own list: they would empty each other's")
	}
	s.Cloudflare = append(s.Cloudflare, c)
}

func (s *Enforcers) readFile(n yaml.Node) ListFile {
	f := ListFile{Name: "edgeguard"}
	n.Mapping(yaml.Fields{
		"file": func(n yaml.Node) {
			f.File = n.AbsPath()
			if slices.ContainsFunc(s.Files, func(other ListFile) bool { return other.File == f.File && f.File != "" }) {
				n.Wrong("is already written by another list", "give each its own file")
			}
		},
		"format":    func(n yaml.Node) { f.Format = n.Choice(listFormats...) },
		"name":      func(n yaml.Node) { f.Name = n.Like(listName, "small letters, digits and _, at most 24") },
		"kernel":    func(n yaml.Node) { f.Kernel = n.Truth() },
		"reload":    func(n yaml.Node) { f.Reload = n.Command() },
		"every":     func(n yaml.Node) { f.Every = n.Duration(leastListEvery) },
		"on_remove": func(n yaml.Node) { f.KeepRemoved = readOnRemove(n) },
	})
	if f.File == "" && !n.Touched("file") {
		n.Wrong("has no file", "set file, such as /etc/nginx/edgeguard.conf")
	}
	if f.Format == "" && !n.Touched("format") {
		n.Wrong("has no format", "set format to one of "+strings.Join(listFormats, ", "))
	}
	if f.Format == "ipset" || f.Format == "nft" {
		f.Kernel = true
	}
	if f.Every == 0 {
		f.Every = everyUpdate
		if len(f.Reload) > 0 && !f.Kernel {
			f.Every = everyReload
		}
	}
	return f
}

func (s *Enforcers) readHAProxy(n yaml.Node) {
	h := &HAProxyACL{Every: everyUpdate}
	s.HAProxy = h
	n.Mapping(yaml.Fields{
		"socket":    func(n yaml.Node) { h.Socket = n.AbsPath() },
		"acl":       func(n yaml.Node) { h.ACL = n.Like(listID, "the path in haproxy.cfg, without spaces") },
		"map":       func(n yaml.Node) { h.Map = n.Like(listID, "the path in haproxy.cfg, without spaces") },
		"every":     func(n yaml.Node) { h.Every = n.Duration(leastListEvery) },
		"on_remove": func(n yaml.Node) { h.KeepRemoved = readOnRemove(n) },
	})
	if h.Socket == "" && !n.Touched("socket") {
		n.Wrong("has no socket", "set socket to the path of a stats socket with level admin")
	}
	if (h.ACL == "") == (h.Map == "") && !n.Touched("acl", "map") {
		n.Wrong("requires exactly one of acl and map", "set one to the file that haproxy.cfg names")
	}
}

// readOnRemove reads what becomes of a list that leaves the config.
func readOnRemove(n yaml.Node) (keep bool) { return n.Choice("empty", "keep") == "keep" }

func onRemove(keep bool) string {
	if keep {
		return "keep"
	}
	return "empty"
}

// Write writes the section, if there is an enforcer.
func (s *Enforcers) Write(p *yaml.Printer) {
	if len(s.Files) == 0 && s.HAProxy == nil && s.NFTables == nil && len(s.AWSWAF) == 0 && len(s.Cloudflare) == 0 {
		return
	}
	p.Field(0, "enforce", "")
	if len(s.Files) > 0 {
		p.Field(1, "files", "")
	}
	for i, f := range s.Files {
		text := fmt.Sprintf("%s, format: %s, name: %s, kernel: %t, every: %s, on_remove: %s",
			p.Quote(yaml.JoinPath(yaml.ItemPath("enforce.files", i), "file"), f.File), f.Format, yaml.Quote(f.Name), f.Kernel, yaml.Duration(f.Every), onRemove(f.KeepRemoved))
		if len(f.Reload) > 0 {
			text += ", reload: " + yaml.Flow(f.Reload)
		}
		p.Field(2, "- {file", text+"}")
	}
	if h := s.HAProxy; h != nil {
		list := "acl: " + yaml.Quote(h.ACL)
		if h.ACL == "" {
			list = "map: " + yaml.Quote(h.Map)
		}
		p.Field(1, "haproxy", fmt.Sprintf("{socket: %s, %s, every: %s, on_remove: %s}", p.Quote("enforce.haproxy.socket", h.Socket), list, yaml.Duration(h.Every), onRemove(h.KeepRemoved)))
	}
	if s.NFTables != nil {
		s.NFTables.write(p)
	}
	writeAWSWAF(p, s.AWSWAF)
	writeCloudflare(p, s.Cloudflare)
}
