package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Enforce is what enforces blocks outside of the node.
type Enforce struct {
	Files    []EnforceFile
	HAProxy  *HAProxy  // nil for none
	NFTables *NFTables // nil for none
}

// EnforceFile is a list that is kept in a file.
type EnforceFile struct {
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

// HAProxy is a list in a running HAProxy, changed through its stats socket.
type HAProxy struct {
	Socket string // a unix socket's path
	// ACL or Map is the file that haproxy.cfg names the list by, letter for
	// letter; one of them.
	ACL, Map string
	Every    time.Duration
	// KeepRemoved leaves the list in force when the config no longer has it.
	KeepRemoved bool
}

// NFTables is the kernel's packet filter.
type NFTables struct {
	Table string
}

// listFormats are the formats of a list, as package enforce has them.
var listFormats = []string{"plain", "nginx", "nginx-geo", "haproxy", "haproxy-map", "ipset", "nft"}

// The shortest times between two updates: a proxy that is reloaded makes new
// workers each time, everything else is cheap.
const (
	everyReload = 10 * time.Second
	everyUpdate = time.Second
	leastEvery  = time.Second
)

// Names that the kernel's tools, and HAProxy's commands, take as they are.
var (
	listName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)
	listID   = regexp.MustCompile(`^[A-Za-z0-9/][A-Za-z0-9/._+:=,~-]*$`)
)

func (e *Enforce) read(n node) {
	n.mapping(fields{
		"files":    func(n node) { n.list(func(n node) { e.Files = append(e.Files, e.readFile(n)) }) },
		"haproxy":  e.readHAProxy,
		"nftables": e.readNFTables,
		"xdp":      comesLater,
	})
}

func (e *Enforce) readNFTables(n node) {
	n.notActedOn()
	e.NFTables = &NFTables{Table: "edgeguard"}
	n.mapping(fields{"table": func(n node) { e.NFTables.Table = n.listName() }})
}

func (e *Enforce) readFile(n node) EnforceFile {
	f := EnforceFile{Name: "edgeguard"}
	n.mapping(fields{
		"file": func(n node) {
			f.File = n.folder()
			if slices.ContainsFunc(e.Files, func(other EnforceFile) bool { return other.File == f.File && f.File != "" }) {
				n.wrong("is already written by another list", "give each its own file")
			}
		},
		"format":    func(n node) { f.Format = n.choice(listFormats...) },
		"name":      func(n node) { f.Name = n.listName() },
		"kernel":    func(n node) { f.Kernel = n.truth() },
		"reload":    func(n node) { f.Reload = n.command() },
		"every":     func(n node) { f.Every = n.duration(leastEvery) },
		"on_remove": func(n node) { f.KeepRemoved = n.onRemove() },
	})
	if f.File == "" && !n.r.touched(n.path, "file") {
		n.wrong("has no file", "set file, such as /etc/nginx/edgeguard.conf")
	}
	if f.Format == "" && !n.r.touched(n.path, "format") {
		n.wrong("has no format", "set format to one of "+strings.Join(listFormats, ", "))
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

func (e *Enforce) readHAProxy(n node) {
	h := &HAProxy{Every: everyUpdate}
	e.HAProxy = h
	n.mapping(fields{
		"socket":    func(n node) { h.Socket = n.folder() },
		"acl":       func(n node) { h.ACL = n.listID() },
		"map":       func(n node) { h.Map = n.listID() },
		"every":     func(n node) { h.Every = n.duration(leastEvery) },
		"on_remove": func(n node) { h.KeepRemoved = n.onRemove() },
	})
	if h.Socket == "" && !n.r.touched(n.path, "socket") {
		n.wrong("has no socket", "set socket to the path of a stats socket with level admin")
	}
	if (h.ACL == "") == (h.Map == "") && !n.r.touched(n.path, "acl", "map") {
		n.wrong("requires exactly one of acl and map", "set one to the file that haproxy.cfg names")
	}
}

// onRemove reads what becomes of a list that leaves the config.
func (n node) onRemove() (keep bool) { return n.choice("empty", "keep") == "keep" }

func onRemove(keep bool) string {
	if keep {
		return "keep"
	}
	return "empty"
}

func (n node) listName() string { return n.like(listName, "small letters, digits and _, at most 24") }
func (n node) listID() string   { return n.like(listID, "the path in haproxy.cfg, without spaces") }

func (n node) like(form *regexp.Regexp, want string) string {
	text, ok := n.text()
	if ok && !form.MatchString(text) {
		n.wrong(fmt.Sprintf("invalid name %q", clip(text)), "use "+want)
	}
	return text
}

// command reads a command and its arguments. One text with spaces would require a
// shell, and no shell is used.
func (n node) command() []string {
	words := n.words()
	if len(words) == 1 && strings.ContainsAny(words[0], " \t") {
		n.wrong("is run without a shell, so it must be a list", "write ["+strings.Join(strings.Fields(clip(words[0])), ", ")+"]")
	}
	if len(words) == 0 && !n.r.touched(n.path) {
		n.wrong("is empty", "write a command such as [nginx, -s, reload], or remove it")
	}
	return words
}
