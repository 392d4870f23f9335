package edgeguard_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// modules says where a module that is not ours may be imported: there and below.
// A new module needs a row in docs/adr/0001-direct-dependencies.md first.
var modules = map[string]string{
	"github.com/cespare/xxhash/v2":        "aggregator enforce sensor shard snapshot",
	"github.com/expr-lang/expr":           "rules",
	"github.com/fsnotify/fsnotify":        "sensor/accesslog",
	"github.com/gaissmai/bart":            "blocklist enforce",
	"github.com/goccy/go-yaml":            "config",
	"github.com/google/gopacket":          "sensor/packet",
	"github.com/google/nftables":          "enforce/nftables",
	"github.com/mdlayher/netlink":         "enforce/nftables",
	"github.com/prometheus/client_golang": "admin/metrics",
	"github.com/redis/go-redis/v9":        "aggregator/redis cmd internal/redistest loadtest/algorithms/overredis replay",
	"github.com/spf13/cobra":              "cmd",
	"github.com/spf13/pflag":              "cmd",
	"github.com/valyala/fasthttp":         "sensor/httpauth",
	"github.com/yuin/goldmark":            "help",
	"golang.org/x/sys":                    "cmd enforce/nftables haproxy internal node sensor/packet",
	"golang.org/x/term":                   "cmd",
	"google.golang.org/protobuf":          "sensor/envoy",
}

// programs own their process: they print, and they end it.
const programs = "cmd loadtest test internal/monitoring internal/thirdparty"

// panics says where code may panic, always for a mistake in our own.
var panics = map[string]string{
	"config":              "the defaults do not pass their own check",
	"enforce/enforcetest": "a prefix longer than its address, in tests",
	"logline/pattern":     "a layout of ours does not compile",
	"rules":               "a name of an event's field that this package wrote wrongly",
	"shard":               "a table with neither IPv4 nor IPv6 keys",
}

// The most lines of a function and of a file.
const longestFunction, longestFile = 60, 400

// isIn reports whether a package is one of these folders, or below one.
func isIn(pkg, folders string) bool {
	return slices.ContainsFunc(strings.Fields(folders), func(f string) bool { return strings.HasPrefix(pkg+"/", f+"/") })
}

// thirdParty keeps each module where an ADR puts it.
func thirdParty(s source, report report) {
	for _, spec := range s.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if root, _, _ := strings.Cut(imported, "/"); !strings.Contains(root, ".") {
			continue // ours, or the standard library's
		}
		if !isIn(s.pkg, modules[moduleOf(imported)]) {
			report(spec, "imports "+imported+", which docs/adr/0001-direct-dependencies.md does not place here")
		}
	}
}

// moduleOf returns the row of an import, or "" without one.
func moduleOf(imported string) string {
	for module := range modules {
		if isIn(imported, module) {
			return module
		}
	}
	return ""
}

// manners keeps printing, the global loggers, exits and panics in the programs:
// everything else returns errors and is given its logger.
func manners(s source, report report) {
	if isIn(s.pkg, programs) {
		return
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if problem := badCall(s.pkg, call); problem != "" {
				report(call, problem)
			}
		}
		return true
	})
}

// badCall says what is wrong with a call outside the programs, if anything.
func badCall(pkg string, call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		if fun.Name == "panic" && panics[pkg] == "" {
			return "panics: return an error, or list the package with a reason"
		}
	case *ast.SelectorExpr:
		from, _ := fun.X.(*ast.Ident)
		if from == nil {
			return ""
		}
		switch name := fun.Sel.Name; from.Name {
		case "fmt":
			if strings.HasPrefix(name, "Print") {
				return "prints: take an io.Writer"
			}
		case "os":
			if name == "Exit" {
				return "ends the process: return an error"
			}
		case "log", "slog":
			// A logger of its own and the attributes are fine.
			if slices.ContainsFunc(globalLog, func(p string) bool { return strings.HasPrefix(name, p) }) {
				return "logs through the global logger: take a *slog.Logger"
			}
		}
	}
	return ""
}

// globalLog are the beginnings of the functions of log and log/slog that write
// to, or change, the process's one logger.
var globalLog = []string{"Print", "Fatal", "Panic", "Output", "Debug", "Info", "Warn", "Error", "Default", "SetDefault", "SetOutput"}

// mutexes holds that each mutex of the product says on its line what it guards,
// or what it keeps apart.
func mutexes(s source, report report) {
	if isIn(s.pkg, "loadtest test") {
		return
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && isMutex(field.Type) && field.Comment == nil {
			report(field, "a mutex without a comment on its line: say what it guards")
		}
		return true
	})
}

func isMutex(t ast.Expr) bool {
	named, ok := t.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, _ := named.X.(*ast.Ident)
	return from != nil && from.Name == "sync" && (named.Sel.Name == "Mutex" || named.Sel.Name == "RWMutex")
}

// short keeps functions and files to what a reader takes in at once.
func short(s source, report report) {
	lines := func(n ast.Node) int { return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1 }
	if n := s.fset.File(s.Pos()).LineCount(); n > longestFile {
		report(s.Name, fmt.Sprintf("the file has %d lines, more than %d: split it", n, longestFile))
	}
	for _, d := range s.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && lines(f) > longestFunction {
			report(f, fmt.Sprintf("%s has %d lines, more than %d: split it", f.Name.Name, lines(f), longestFunction))
		}
	}
}
