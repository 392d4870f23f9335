package edgeguard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors is the house from the words up. A room is a folder and what is below
// it, but for what has a line of its own. It may import the rooms behind the
// colon, each from a line above, so that imports go one way; "*" is all of those
// above. The first two lines may be imported without being named. Packages of one
// room may import each other. Helpers of tests, whose names end in "test", are in
// the room test.
const floors = `
.:
internal:
ring:
rules:
presets:
packaging:
docs:
help:                  docs
clockguard:
hostaddr:
feed:
notify:
crawlers:
crawlers/lookup:       crawlers
logline:
blocklist:
frontdoor:
haproxy:               rules
shard:                 ring
internal/hugepage:     shard
snapshot:              ring
eventlog:
attack:
tuning:                rules
detector:              blocklist frontdoor ring rules shard
aggregator:            blocklist ring shard
aggregator/member aggregator/quarantine: aggregator blocklist detector rules shard
aggregator/redis:      aggregator blocklist clockguard
crowdsec:              blocklist
sensor:                haproxy logline
enforce:               haproxy
config/yaml:           rules
config:                config/yaml crawlers feed haproxy logline notify presets rules
admin:                 attack blocklist crawlers crowdsec detector eventlog haproxy notify tuning
admin/console:         admin aggregator help tuning
node:                  *
replay:                aggregator aggregator/member aggregator/redis blocklist crawlers detector frontdoor hostaddr rules shard tuning
setup:                 config/yaml frontdoor logline rules
migrate:               config/yaml rules setup
cmd:                   *
test loadtest internal/fleetmodel internal/program internal/realdata internal/redistwin: *
`

// mayIO names what may do I/O, read the clock, start goroutines, log, or keep
// metrics: folders and files, where the last match counts and "!" makes pure. The
// rest is pure, new files too.
const mayIO = `
cmd loadtest test
!cmd/edgeguard/snippets !cmd/edgeguard/blocks/{blockfile,objects,table,writer}* !cmd/edgeguard/observe/neighbours*
internal !internal/{fleetmodel,nearest,redistwin,safetext,sheetcell,unsafetext,words}
node !node/{alarm,checks,evidence,pipeline}
replay migrate/migratetest
admin !admin/openapi !admin/{fleetstate,holders,listing,order}*
!admin/access/{guesses,links,store}* !admin/watch/{rates,recent}* !admin/console/{columns,drag,draw,elsewhere,hour,past,sentence,ways}*
sensor/{accesslog,haproxypeers,httpauth,inline,packet,spoe} sensor/envoy/{asker,call,config,joinwrites,server}*
enforce !enforce/cloud/sigv4*
aggregator/redis clockguard/reading.go crawlers/lookup eventlog !eventlog/{frame,index}* hostaddr snapshot
config/{config,listen,log,pieces}.go config/yaml/{address,variables}*
crowdsec/{client,machine,lapitest}* crowdsec/lapi/{keys,server,stream}*
feed/{fetch,file}* haproxy/access* notify/deliver*
`

// forTypes names what may do I/O and yet be imported by pure code, for its types.
const forTypes = "admin internal/lobby"

// impure lists what pure code may not import. net/netip and the types of time
// are fine: they do nothing.
var impure = []string{
	"context", "database/sql", "io/ioutil", "log", "log/slog", "math/rand", "math/rand/v2",
	"net", "net/http", "os", "os/exec", "os/signal", "syscall",
	"github.com/fsnotify/fsnotify", "github.com/google/nftables", "github.com/mdlayher/netlink",
	"github.com/prometheus/client_golang", "github.com/redis/go-redis/v9", "github.com/valyala/fasthttp", "golang.org/x/sys",
}

// clockNames are the parts of package time that read the clock or start a
// timer. Slots come from clockguard alone.
var clockNames = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// source is one Go file that is not a test.
type source struct {
	file, pkg string // from the root; "." is the root's package
	fset      *token.FileSet
	*ast.File
}

// report says what is wrong at a place of a source.
type report func(at ast.Node, problem string)

// fileRules are the rules that one file keeps or breaks.
var fileRules = []func(source, report){imports, purity, thirdParty, manners, mutexes, short}

func TestFiles(t *testing.T) {
	for _, s := range house(t) {
		for _, rule := range fileRules {
			rule(s, func(at ast.Node, problem string) { t.Errorf("%s: %s", s.fset.Position(at.Pos()), problem) })
		}
	}
}

// TestFloors holds that the table itself goes one way, and allows nothing that no
// file needs.
func TestFloors(t *testing.T) {
	imported := map[[2]string]bool{}
	for _, s := range house(t) {
		imported[[2]string{roomOf(s.pkg)}] = true
		for _, spec := range s.Imports {
			if folder, isOurs := ourFolder(spec); isOurs {
				imported[[2]string{roomOf(s.pkg), roomOf(folder)}] = true
			}
		}
	}
	for _, problem := range badFloors(rooms, imported) {
		t.Error(problem)
	}
}

// badFloors says what is wrong with a table. Imported holds each room, and each
// pair of a room and one that it imports.
func badFloors(rooms []room, imported map[[2]string]bool) (problems []string) {
	seen, pairs := map[string]bool{"*": true}, map[[2]string]bool{}
	for _, r := range rooms {
		name := r.names[0]
		if !imported[[2]string{name}] {
			problems = append(problems, name+" is not a room any more: take it off the table")
		}
		for _, other := range r.imports {
			from, to := top(name), top(other)
			pairs[[2]string{from, to}] = true
			switch {
			case !seen[other]:
				problems = append(problems, name+" may import "+other+", which is on no line above it")
			case from != to && pairs[[2]string{to, from}]:
				problems = append(problems, from+" and "+to+" import each other")
			case other != "*" && !imported[[2]string{name, other}]:
				problems = append(problems, name+" does not import "+other+" any more: take it off its line")
			}
		}
		seen[name] = true
	}
	return problems
}

// imports holds the floors.
func imports(s source, report report) {
	from := line(roomOf(s.pkg))
	if from < 0 {
		report(s.Name, s.pkg+" is in no room: give its top folder a line in floors")
		return
	}
	for _, spec := range s.Imports {
		folder, isOurs := ourFolder(spec)
		if !isOurs {
			continue
		}
		to, may := line(roomOf(folder)), rooms[from].imports
		named := to < 2 || slices.Contains(may, "*") || slices.Contains(may, roomOf(folder))
		if to != from && (to > from || !named) {
			report(spec, rooms[from].names[0]+" may not import "+roomOf(folder))
		}
	}
}

// purity holds that code outside mayIO does nothing but compute.
func purity(s source, report report) {
	if may(s.file) {
		return
	}
	for _, spec := range s.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		folder, isOurs := ourFolder(spec)
		switch {
		case isOurs && may(path.Join(folder, "_")) && !isIn(folder, forTypes):
			report(spec, "this file is pure, and "+folder+" does I/O")
		case slices.Contains(impure, imported), slices.Contains(impure, moduleOf(imported)):
			report(spec, "this file is pure: no I/O, no clock, no logging; it may not import "+imported)
		}
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "this file is pure: it starts no goroutine")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clockNames, n.Sel.Name) {
				report(n, "this file is pure: time."+n.Sel.Name+" reads the clock; take now as an argument")
			}
		}
		return true
	})
}

// room is a line of floors. It goes by its first name.
type room struct{ names, imports []string }

var rooms = table(floors)

func table(text string) (all []room) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		names, imports, _ := strings.Cut(line, ":")
		all = append(all, room{strings.Fields(names), strings.Fields(imports)})
	}
	return all
}

// line returns where in floors a folder is named, or -1.
func line(folder string) int {
	return slices.IndexFunc(rooms, func(r room) bool { return slices.Contains(r.names, folder) })
}

// roomOf returns the room of a package, or its top folder if that is none.
func roomOf(pkg string) string {
	if strings.HasSuffix(pkg, "test") {
		return "test"
	}
	for folder := pkg; folder != "."; folder = path.Dir(folder) {
		if i := line(folder); i >= 0 {
			return rooms[i].names[0]
		}
	}
	return top(pkg)
}

func top(pkg string) string {
	name, _, _ := strings.Cut(pkg, "/")
	return name
}

// may reports whether mayIO allows a file to do I/O.
func may(file string) (allowed bool) {
	for _, pattern := range strings.Fields(mayIO) {
		pattern, pure := strings.CutPrefix(pattern, "!")
		if matches(pattern, file) {
			allowed = !pure
		}
	}
	return allowed
}

// matches reports whether a pattern names a file, or a folder that it is in.
func matches(pattern, file string) bool {
	if head, rest, braces := strings.Cut(pattern, "{"); braces {
		choices, tail, _ := strings.Cut(rest, "}")
		return slices.ContainsFunc(strings.Split(choices, ","), func(one string) bool { return matches(head+one+tail, file) })
	}
	for ; file != "."; file = path.Dir(file) {
		if ok, _ := path.Match(pattern, file); ok {
			return true
		}
	}
	return false
}

// house returns every Go file of this module that is not a test.
func house(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(file)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		s, err := parse(filepath.ToSlash(file), nil)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parse reads a file, or the text in its place.
func parse(file string, text any) (source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{file, path.Dir(file), fset, f}, err
}

// isModule reports whether dir is a module of its own, whose imports are its
// own business.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// ourFolder returns the folder of an import of ours, "." for the root.
func ourFolder(spec *ast.ImportSpec) (folder string, isOurs bool) {
	imported, _ := strconv.Unquote(spec.Path.Value)
	rest, isOurs := strings.CutPrefix(imported, "edgeguard")
	if !isOurs || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join(".", strings.TrimPrefix(rest, "/")), true
}
