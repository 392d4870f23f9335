package edgeguard_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// prefixReaders are the functions that read the Prefix of a key that counts are of, with why none
// of them takes a key without an address for one of an address: such a [edgeguard.Key] has no valid
// Prefix, and an aggregator.Key has [edgeguard.Everybody].
const prefixReaders = `
admin View.Nearest: asks FleetCounts, which knows keys of blocks: KeyOfBlock refuses a prefix that is not valid
admin View.outcome: asks Status.Find, which finds nothing of a prefix that is not valid
admin byPrefix: lists such keys one by one
admin prefixesOf: leaves the prefix out, so that no attack of a network and no search by address has the event
admin/console applyPage.consequence: asks Status.Find
admin/console newKeyRow: links an address only where it is valid
admin/console newOverRow: asks Status.Find, and Glance only where it is valid
aggregator Doubts.due: an alarm's text about counts in Redis
aggregator Key.Append: the key in Redis
aggregator Key.HasAddress: tells them apart
aggregator Key.compare: an order
aggregator ParseKey: the key in Redis
aggregator Totals.Forgotten: its marks are of unblocks, which everyMeter keeps from such meters
aggregator Totals.scanTable: turns what a table shows into the key in Redis
aggregator Totals.suspectOf: takes no other prefix for such a meter
aggregator/member Member.ApplyFleetCount: passes it to FleetCount, which tells it without an address
aggregator/member Member.Blocked: says no
aggregator/member Member.KeyOfBlock: knows meters of addresses alone
aggregator/member Member.Settled: passes it on, as ApplyFleetCount
aggregator/redis clearing.forged: an alarm's text
aggregator/redis clearing.refloor: asks the fleet's list only of keys with an address
cmd/edgeguard choosePresets: is given keys with an address
cmd/edgeguard jsonPrinter.crossing: no address is protected that is not valid
cmd/edgeguard tuneJob.proposePresets: leaves it out
cmd/edgeguard/tune leader: nothing is known of it, and it has no neighbours
cmd/edgeguard/tune peakOf: overlaps no network
detector Detector.Evidence: is of crossings that block, which such a rule cannot
detector Detector.explainRule: steps of blocks, of a rule that blocks
detector Detector.fleetBlock: of a rule that blocks
detector Detector.fleetOver: the key under which a crossing is remembered
detector Table.clear: is not called for such a table
detector Table.key: the same
detector decision.compareCount: the prefix of an excess, told without an address
detector excess.reportCrossing: of a network around a key, which it has none of
detector listed.sampleNear: sample takes nothing of a prefix that is not valid
detector meter.explainKeys: compares it with that of the explanation, which has none either
detector meter.explainWide: it has no networks
detector meter.pardons: CountsAddresses says no
detector outageWatch.noteFailed: is called where CountsAddresses says yes
detector ruling.askKey: the prefix of an excess
detector source.blocksByPrefix: of a rule that blocks
edgeguard Key.String: says everybody
node Node.crossed: the text about a front door, which is an address
node/fleetlink peer.Over: HasAddress keeps it from quarantine and evidence
node/fleetlink peer.Settled: HasAddress keeps it from quarantine
node/fleetlink peer.Weighs: says no
node/pipeline Pipeline.crossed: is of crossings that block, which such a rule cannot
node/status Status.Explain: leaves it out of what an address counts
node/status Status.Glance: the same
node/status Status.Inside: CountsAddresses says no
node/status Status.Top: asks no list about it
node/status nearness: an order
node/status pick: leaves it out
replay ledger.crossed: no address is protected that is not valid
replay ledger.peaked: the key of a row
replay ledger.refusal: the key of a row
replay ledger.rowOf: the key of a row
replay peaks.takePeaks: the key of a table
shard Table.Windows: shows Everybody, as files have it
shard Table.keyOf: takes Everybody whatever it is
tuning Peak.compare: an order
tuning/evidence Book.Judge: nothing is known of it
`

// TestPrefixReaders names every reader of Key.Prefix: a new one has to say here what it does with a
// key without an address, before a list, a network or an unblock is asked about everybody.
func TestPrefixReaders(t *testing.T) {
	said := make(map[string]bool)
	for line := range strings.Lines(strings.TrimSpace(prefixReaders)) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if said[name] = true; why == "" {
			t.Errorf("%s does not say why", name)
		}
	}
	found := readersOfPrefix(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !said[name] {
			t.Errorf("%s reads the Prefix of a key: say in prefixReaders what it does with one without an address", name)
		}
	}
	for name := range said {
		if !found[name] {
			t.Errorf("%s reads no Prefix of a key: remove it from prefixReaders", name)
		}
	}
}

// readersOfPrefix returns the functions of the product that read it.
func readersOfPrefix(t *testing.T) map[string]bool {
	t.Helper()
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Standard                bool
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./cmd/edgeguard").Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := make(map[string]string)
	var own []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; p.ImportPath == "edgeguard" || strings.HasPrefix(p.ImportPath, "edgeguard/") {
			own = append(own, p)
		}
	}
	fset, found := token.NewFileSet(), make(map[string]bool)
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		info := &types.Info{Selections: make(map[*ast.SelectorExpr]*types.Selection)}
		c := types.Config{Importer: from, Error: func(error) {}}
		_, _ = c.Check(p.ImportPath, fset, files, info) // functions without a body are errors
		for _, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && info.Selections[s] != nil && isKeyPrefix(info.Selections[s]) {
						found[strings.TrimPrefix(p.ImportPath, "edgeguard/")+" "+nameOf(fn)] = true
					}
					return true
				})
			}
		}
	}
	return found
}

// isKeyPrefix reports whether a selection is the field Prefix of one of the keys.
func isKeyPrefix(s *types.Selection) bool {
	if s.Kind() != types.FieldVal || s.Obj().Name() != "Prefix" {
		return false
	}
	of := s.Recv()
	if p, ok := of.(*types.Pointer); ok {
		of = p.Elem()
	}
	name := of.String()
	return name == "edgeguard.Key" || name == "edgeguard/aggregator.Key"
}

// nameOf returns a function's name with the type it is of.
func nameOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}
