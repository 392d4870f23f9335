package edgeguard_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modules says which packages may import a module that is not ours. A new module
// needs a row in docs/adr/0001-direct-dependencies.md first.
var modules = map[string][]string{
	"github.com/cespare/xxhash/v2":        {"aggregator", "enforce", "sensor/accesslog", "sensor/packet", "shard", "snapshot"},
	"github.com/expr-lang/expr":           {"rules"},
	"github.com/fsnotify/fsnotify":        {"sensor/accesslog"},
	"github.com/gaissmai/bart":            {"blocklist", "enforce"},
	"github.com/goccy/go-yaml":            {"config/document", "config/read"},
	"github.com/google/gopacket":          {"sensor/packet"},
	"github.com/google/nftables":          {"enforce/nftables"},
	"github.com/mdlayher/netlink":         {"enforce/nftables"},
	"github.com/prometheus/client_golang": {"admin/metrics"},
	"github.com/redis/go-redis/v9":        {"aggregator/redis", "aggregator/redis/bounds", "aggregator/redis/endpoint", "aggregator/redis/eviction", "aggregator/redis/exchange", "aggregator/redis/fault", "aggregator/redis/lease", "aggregator/redis/library", "aggregator/redis/tuned", "cmd/edgeguard", "cmd/edgeguard/fleet", "internal/redistest", "replay"},
	"github.com/spf13/cobra":              {"cmd/edgeguard", "cmd/edgeguard/blocks", "cmd/edgeguard/bouncers", "cmd/edgeguard/check", "cmd/edgeguard/complete", "cmd/edgeguard/console", "cmd/edgeguard/doctor", "cmd/edgeguard/enforce", "cmd/edgeguard/overlay", "cmd/edgeguard/fleet", "cmd/edgeguard/importing", "cmd/edgeguard/imports", "cmd/edgeguard/lists", "cmd/edgeguard/notify", "cmd/edgeguard/observe", "cmd/edgeguard/presets", "cmd/edgeguard/setup", "cmd/edgeguard/snippets/command"},
	"github.com/spf13/pflag":              {"cmd/edgeguard"},
	"github.com/valyala/fasthttp":         {"sensor/httpauth"},
	"golang.org/x/sys":                    {"cmd/edgeguard/doctor", "cmd/edgeguard", "enforce/nftables", "haproxy/access", "internal/lobby", "internal/unixsocket", "node"},
	"golang.org/x/term":                   {"cmd/edgeguard"},
	"google.golang.org/protobuf":          {"envoy/field"},
}

// programs are the packages that own their process: they print, and they end it.
var programs = []string{"cmd/", "loadtest", "internal/house", "internal/monitoring", "internal/thirdparty"}

// panics says which packages may panic, always for a mistake in our own code.
var panics = map[string]string{
	"config":              "the defaults do not pass their own check",
	"enforce/enforcetest": "a prefix longer than its address, in tests",
	"logline/pattern":     "a layout of ours does not compile",
	"shard":               "a table with neither IPv4 nor IPv6 keys",
}

// TestModules keeps each third-party module where an ADR puts it.
func TestModules(t *testing.T) {
	eachFile(t, func(t *testing.T, file string, fset *token.FileSet, f *ast.File) {
		for _, spec := range f.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if root, _, _ := strings.Cut(imported, "/"); !strings.Contains(root, ".") {
				continue // ours, or the standard library's
			}
			if module := moduleOf(imported); !slices.Contains(modules[module], packageOf(file)) {
				t.Errorf("%s: imports %s, which docs/adr/0001-direct-dependencies.md does not place here", fset.Position(spec.Pos()), imported)
			}
		}
	})
}

// moduleOf returns the row of an import, or "" without one.
func moduleOf(imported string) string {
	for module := range modules {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return module
		}
	}
	return ""
}

// TestManners keeps printing, the global loggers, exits and panics in the
// programs: everything else returns errors and is given its logger.
func TestManners(t *testing.T) {
	eachFile(t, func(t *testing.T, file string, fset *token.FileSet, f *ast.File) {
		pkg := packageOf(file)
		if slices.ContainsFunc(programs, func(p string) bool { return strings.HasPrefix(pkg+"/", p) }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if problem := badCall(pkg, call); problem != "" {
				t.Errorf("%s: %s", fset.Position(n.Pos()), problem)
			}
			return true
		})
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

// TestMutexes holds that each mutex of the product says on its line what it
// guards, or what it keeps apart.
func TestMutexes(t *testing.T) {
	eachFile(t, func(t *testing.T, file string, fset *token.FileSet, f *ast.File) {
		if strings.HasPrefix(file, "loadtest/") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || !isMutex(field.Type) {
				return true
			}
			if field.Comment == nil {
				t.Errorf("%s: a mutex without a comment on its line: say what it guards", fset.Position(field.Pos()))
			}
			return true
		})
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
