package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// Enforcers is the section `enforce`: the lists in which a node keeps its blocks for
// proxies and packet filters.
type Enforcers struct {
	Names    *NamesFolder // nil for none
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
	// Wide leaves out what Names hold.
	Wide bool
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

func (s *Enforcers) keys() key.List {
	return key.List{
		key.Optional("names", &s.Names, readNames, (*NamesFolder).keys),
		key.Items("files", &s.Files, s.readFile, (*ListFile).keys),
		key.Optional("haproxy", &s.HAProxy, readHAProxy, (*HAProxyACL).keys),
		key.Optional("nftables", &s.NFTables, readNFTables, (*NFTables).keys),
		key.Items("awswaf", &s.AWSWAF, s.readAWSWAF, (*AWSWAF).keys),
		key.Items("cloudflare", &s.Cloudflare, s.readCloudflare, (*Cloudflare).keys),
		key.Section("xdp", yaml.NotSupported, nil),
	}
}

func (f *ListFile) keys() key.List {
	return key.List{
		key.Path("file", &f.File, "in a folder that edgeguard may write. [Who else may](operations.md#who-may-write)").Usual("required"),
		key.Choice("format", &f.Format, listFormats, "[the form of the file](recipes.md)").Usual("required"),
		key.Like("name", &f.Name, listName, "small letters, digits and _, at most 24", "the nft table, or the beginning of the ipset names"),
		key.Truth("kernel", &f.Kernel, "`true`: it goes into a packet filter, and clients seen behind a proxy are left out").Usual("by format"),
		key.Span("every", &f.Every, leastListEvery, key.Endless, "the shortest time between two updates").
			Usual("`10s` with a proxy's `reload`, else `1s`"),
		key.Either("on_remove", &f.KeepRemoved, "empty", "keep",
			"when the config no longer has the list: `empty` empties it and runs `reload` once more, `keep` leaves it in force"),
		key.Either("holds", &f.Wide, "all", "wide", "`wide`: only the blocks that `enforce.names` does not hold"),
		key.Words("reload", &f.Reload, yaml.Node.Command, "a command with its arguments",
			"run without a shell after a change, for at most 10 s, as edgeguard's user"),
	}
}

func (f *ListFile) entry() Entry { return Entry{copies: "the list " + f.File, Files: listFiles} }

func newListFile() ListFile { return ListFile{Name: "edgeguard"} }

func (s *Enforcers) readFile(n yaml.Node) ListFile {
	f := newListFile()
	f.keys().Read(n)
	if i := slices.IndexFunc(s.Files, func(other ListFile) bool { return other.File == f.File && f.File != "" }); i >= 0 {
		n.WrongField("file", "is already written by another list"+n.Elsewhere(fmt.Sprintf("enforce.files[%d].file", i)), "give each its own file")
	}
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

func newHAProxyACL() *HAProxyACL { return &HAProxyACL{Every: everyUpdate} }

func (h *HAProxyACL) entry() Entry { return Entry{copies: "the HAProxy of " + h.Socket} }

func (h *HAProxyACL) keys() key.List {
	return key.List{
		key.Path("socket", &h.Socket, "a stats socket of level admin").Usual("required"),
		key.Like("acl", &h.ACL, listID, "the path in haproxy.cfg, without spaces", "the ACL's file, as haproxy.cfg names it").Usual("one of both"),
		key.Like("map", &h.Map, listID, "the path in haproxy.cfg, without spaces", "the map's file, as haproxy.cfg names it").Usual("one of both"),
		key.Span("every", &h.Every, leastListEvery, key.Endless, "the shortest time between two updates"),
		key.Either("on_remove", &h.KeepRemoved, "empty", "keep", "when the config no longer has the list"),
	}
}

func readHAProxy(n yaml.Node) *HAProxyACL {
	h := newHAProxyACL()
	h.keys().Read(n)
	if h.Socket == "" && !n.Touched("socket") {
		n.Wrong("has no socket", "set socket to the path of a stats socket with level admin")
	}
	if (h.ACL == "") == (h.Map == "") && !n.Touched("acl", "map") {
		n.Wrong("requires exactly one of acl and map", "set one to the file that haproxy.cfg names")
	}
	return h
}
