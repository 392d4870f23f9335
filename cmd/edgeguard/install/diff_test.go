package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnified: patch makes the new text of the old one and the difference.
func TestUnified(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("patch is not installed")
	}
	long := strings.Repeat("x\ny\n", 20)
	for _, c := range [][2]string{
		{"", "a\n"}, {"a\n", ""}, {"a\n", "a\nb"}, {"a\nb", "a\n"}, {"server { a; }", "server {\n  b;\n a; }"},
		{long + "1\n" + long + "2\n", long + "1\nnew\n" + long + "new\n2\n"}, {"1\nnew\n2\n3\n4\n5\n6\n7\n8\nnew\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"},
		{long, "first\n" + long + "last\n"}, {"a\nb\nc\n", "c\nb\na\n"},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(c[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		text := unified(&change{path: file, before: []byte(c[0]), after: []byte(c[1])})
		patch := exec.Command("patch", "-s", "-F0", file)
		patch.Stdin = strings.NewReader(text)
		out, err := patch.CombinedOutput()
		got, _ := os.ReadFile(file)
		if err != nil || string(got) != c[1] {
			t.Errorf("%q to %q: %v %s got %q by\n%s", c[0], c[1], err, out, got, text)
		}
	}
}
