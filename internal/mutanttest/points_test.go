package mutanttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const counter = `package p

type counter struct{ n, most int }

func (c *counter) add(by int) bool {
	if c.n+by > c.most && by > 0 {
		return false
	}
	c.n += by
	return true
}

func both(a, b int) int { return min(a,
	b) }
`

func TestPoints(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"p.go": counter, "p_test.go": "package p\n\nfunc of(a int) bool { return a == 1 }\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	points, err := Points(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range points {
		p := &points[i]
		_, source, err := p.Mutated()
		if err != nil {
			t.Fatal(err)
		}
		if changed := strings.Join(strings.Fields(string(source)), " "); !strings.Contains(changed, p.Mistake) || string(source) == counter {
			t.Errorf("%s makes:\n%s", p, source)
		}
		got = append(got, p.String())
	}
	want := []string{
		". counter.add 0: c.n+by > c.most && by > 0 => c.n+by > c.most || by > 0",
		". counter.add 0: c.n+by > c.most => c.n+by >= c.most",
		". counter.add 0: c.n+by => c.n-by",
		". counter.add 0: by > 0 => by >= 0",
		". counter.add 0: return false => return true",
		". counter.add 0: c.n += by => {}",
		". counter.add 0: return true => return false",
		". both 0: min(a, b) => max(a, b)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	names := func(all []Point) (names []string) {
		for i := range all {
			names = append(names, all[i].String())
		}
		return names
	}
	one, other := names(Drawn(points, "a")), names(Drawn(points, "b"))
	slices.Reverse(points)
	if slices.Equal(one, other) || !slices.Equal(one, names(Drawn(points, "a"))) {
		t.Errorf("the seed does not decide alone:\n%v\n%v", one, other)
	}
}

// TestFirstFailed reads what go test prints of a test that fails, of one that does not end,
// and of a panic in a goroutine.
func TestFirstFailed(t *testing.T) {
	for _, test := range []struct{ output, want string }{
		{"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.0s)\n--- FAIL: TestB (0s)\n", "TestA"},
		{"panic: test timed out after 1s\n\trunning tests:\n\t\tTestC (1s)\n", "TestC"},
		{"panic: x\n\ngoroutine 7:\nedgeguard/p_test.TestD.func1(0x1)\n", "TestD"},
		{"FAIL\tedgeguard/p\t0.1s\n", "?"},
	} {
		if got := firstFailed(test.output); got != test.want {
			t.Errorf("%q: %s, want %s", test.output, got, test.want)
		}
	}
}
