package count

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"edgeguard/shard"
)

func TestParseCachegrind(t *testing.T) {
	f, err := parseCachegrind("desc: D1 cache\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\nfn=x\n3 1 0\nsummary: 1000 1 2 300 4 5 200 6 7 90 8 9 10\n")
	if want := (Figures{1000, 18, 10, 14}); err != nil || f != want {
		t.Errorf("%v, %v, want %v", f, err, want)
	}
	if f, err := parseCachegrind("events: Ir\nsummary: 7\n"); err != nil || f != (Figures{7}) {
		t.Errorf("instructions alone: %v, %v", f, err)
	}
	for _, bad := range []string{"", "events: Ir\n", "events: Ir Bcm\nsummary: 7\n", "events: Ir\nsummary: seven\n"} {
		if _, err := parseCachegrind(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("events: Ir Bcm\nsummary: 7 8\n")
	f.Add("go: go1.26\nBenchmarkA\t1\t2 instructions/op\n")
	f.Fuzz(func(t *testing.T, from string) {
		_, _ = parseCachegrind(from)
		table, err := ParseTable(from)
		for name, row := range table.Rows {
			if err == nil && !(row[0] > 0) {
				t.Errorf("%q: %s has %v instructions", from, name, row[0])
			}
		}
	})
}

// What is printed is read again, and says what was in the table.
func TestText(t *testing.T) {
	ops := []Operation{{Name: "A/x", Does: "does", Calls: 4, Items: 2}}
	rows := map[string]Figures{"A/x": {120, 1.5, 2.25, 0}}
	from := Text(ops, rows, map[string]Figures{"A/x": {100}})
	if want := "# does\nBenchmarkA/x\t8\t120 instructions/op\t1.5 mispredicted/op\t2.25 D1-misses/op\t0.00 LL-misses/op\t100 table/op\n"; !strings.HasSuffix(from, want) {
		t.Errorf("%q, want it to end in %q", from, want)
	}
	if got, err := ParseTable(from); err != nil || !maps.Equal(got.Rows, rows) || !strings.HasPrefix(got.version, "go1") {
		t.Errorf("read as %v, %v", got, err)
	}
}

func TestCompare(t *testing.T) {
	old := Committed{Rows: map[string]Figures{"A": {1000, 1}, "B": {1000, 1}}}
	for _, c := range []struct {
		rows map[string]Figures
		want string // begins the error; empty for none
	}{
		{map[string]Figures{"A": {1049}, "B": {951, 9}}, ""},
		{map[string]Figures{"A": {1060}, "B": {1000}}, "A takes 1060 instructions, +6.0 % of the table's 1000\n"},
		{map[string]Figures{"A": {1000}, "B": {940}}, "B takes 940 instructions, -6.0 % of the table's 1000\n"},
		{map[string]Figures{"A": {1000}}, "B of the table was not counted\n"},
		{map[string]Figures{"A": {1000}, "B": {1000}, "C": {1}}, "C is not in the table\n"},
	} {
		err := old.Compare(c.rows)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.rows, err, c.want)
		}
	}
}

func TestSkip(t *testing.T) {
	old := Committed{version: "go1.26.8"}
	if why := old.Skip("amd64", "go1.27"); why != "the table is of go1.26.8, this is go1.27" {
		t.Error("another Go:", why)
	}
	if why := old.Skip("arm64", "go1.26.8"); why != "the table is of amd64, this is arm64" {
		t.Error("another processor:", why)
	}
	t.Setenv("PATH", "")
	if why := old.Skip("amd64", "go1.26.8"); why != "valgrind is not installed" {
		t.Error("no valgrind:", why)
	}
}

// The operations do what they say, and are those of the committed table.
func TestOperations(t *testing.T) {
	var names []string
	for _, o := range Operations() {
		names = append(names, o.Name)
		if strings.HasPrefix(o.Name, "Add/ipv4/cold-later") || !strings.HasPrefix(o.Name, "Add") { // tables of many keys take their time, and are much the same
			o.Drive(2, 3)
		}
	}
	from, err := os.ReadFile("../table.txt")
	if err != nil {
		t.Fatal(err)
	}
	old, err := ParseTable(string(from))
	slices.Sort(names)
	if there := slices.Sorted(maps.Keys(old.Rows)); err != nil || !slices.Equal(there, names) {
		t.Errorf("the table has %v, counted are %v (%v)", there, names, err)
	}
}

// Cold keys have no ring, and dense ones all have one.
func TestFilled(t *testing.T) {
	for cost, rings := range map[uint16]int{1: 0, 1000: keyCount} {
		if s := filled(v4, cost, shard.Config{}).Stats(); int(s.Keys) != keyCount || int(s.Rings) != rings {
			t.Errorf("filled with costs of %d: %+v", cost, s)
		}
	}
}
