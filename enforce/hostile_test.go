//go:build unix

package enforce

import (
	"bufio"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// What each format may have on a line, besides its fixed lines. Whatever else
// is found in a file came from a stranger.
var lawful = map[Format]string{
	FormatPlain:      `ADDR`,
	FormatNginx:      `deny ADDR;`,
	FormatNginxGeo:   `ADDR 1;`,
	FormatHAProxy:    `ADDR`,
	FormatHAProxyMap: `ADDR 1`,
	FormatIPSet:      `add edgeguard[46]_new ADDR timeout [0-9]+ -exist`,
	FormatNFT:        `(add element inet edgeguard (blocked|nets)[46] \{)? ADDR timeout [0-9]+s( \}|,)`,
}

const canonicalText = `[0-9a-f:.]{2,45}(/[0-9]{1,3})?`

// poison is what a stranger would like to see in a file or on a command line.
var poison = []string{
	"203.0.113.7; touch /tmp/pwned", "203.0.113.7\ndeny all;", "$(reboot)", "`reboot`", "203.0.113.7 }; flush ruleset;",
	"203.0.113.7\x00", "fe80::1%eth0;reboot", "fe80::1%\nadd x", "|sh", "&& sh", "';--", "\"", "\\", "../../etc/passwd",
	"203.0.113.7/32 timeout 0\n", "<<\n", "@1 x", "\r\n", "\u202e", strings.Repeat("A", 1<<20), "::ffff:203.0.113.7", "010.0.0.1",
}

// hostileBlocks makes n blocks with poison in every text of theirs, and
// addresses made of whatever netip can be brought to accept.
func hostileBlocks(d *rand.Rand, n int) []edgeguard.Block {
	var blocks []edgeguard.Block
	for len(blocks) < n {
		text := func() string { return poison[d.IntN(len(poison))] }
		b := edgeguard.Block{Rule: text(), Reason: text(), Origin: text(), Until: epoch.Add(time.Duration(d.Int64N(1e12)))}
		switch d.IntN(5) {
		case 0: // what a parser accepted
			b.Prefix, _ = netip.ParsePrefix(text())
		case 1:
			if a, err := netip.ParseAddr(text()); err == nil {
				b.Prefix = netip.PrefixFrom(a, 110+d.IntN(30))
			}
		case 2: // a zone is text that a stranger chose
			b.Prefix = netip.PrefixFrom(netip.MustParseAddr("fe80::1").WithZone(text()), 8+d.IntN(125))
		case 3:
			b.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 10, 13: byte(d.Uint32()), 15: 1}), []int{64, 95, 110, 120, 128}[d.IntN(5)])
		default:
			b.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(d.Uint32()), byte(d.Uint32()), 3, 4}), 20+d.IntN(14))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// TestHostileBlocks is fault test 28: 10,000 of them, and no line, argument or
// shell of theirs.
func TestHostileBlocks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	blocks := hostileBlocks(rand.New(rand.NewPCG(seed, 1)), 10_000)
	all := func(time.Time) iter.Seq[edgeguard.Block] { return slices.Values(blocks) }
	for format, pattern := range lawful {
		t.Run(format.String(), func(t *testing.T) {
			dir := t.TempDir()
			argv := filepath.Join(dir, "argv")
			// The command notes its own arguments: they are the configured ones.
			f := newTestFile(t, FileConfig{Path: filepath.Join(dir, "list"), Format: format,
				Reload: []string{"cp", "/proc/self/cmdline", argv}})
			r, err := New(Config{Enforcer: f, Blocks: all, Now: func() time.Time { return epoch }})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				r.Changed(b)
			}
			r.turn(t.Context())
			if s := r.Stats(); s.Failures != 0 || s.Installed == 0 {
				t.Fatalf("stats %+v", s)
			}
			onlyLawful(t, read(t, f.config.Path), f, pattern)
			if got, want := read(t, argv), "cp\x00/proc/self/cmdline\x00"+argv+"\x00"; got != want {
				t.Errorf("arguments %q", got)
			}
			if left, _ := os.ReadDir(dir); len(left) != 3 { // the list, its lock, the arguments
				t.Errorf("files %v", left)
			}
		})
	}
}

// TestHostileBlocksAtSocket notes what HAProxy's socket would get.
func TestHostileBlocksAtSocket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	path := filepath.Join(dir, "b.acl")
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []string)
	go func() { // answers as HAProxy does: a line, an answer, the end
		var lines []string
		for {
			c, err := l.Accept()
			if err != nil {
				got <- lines
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			lines = append(lines, line)
			if strings.HasPrefix(line, "prepare") {
				_, _ = io.WriteString(c, "New version created: 7\n\n")
			}
			c.Close()
		}
	}()
	f := newTestFile(t, FileConfig{Path: path, Format: FormatHAProxy, Socket: l.Addr().String()})
	blocks := hostileBlocks(rand.New(rand.NewPCG(seed, 1)), 10_000)
	replace(t, f, epoch, collect(epoch, slices.Values(blocks), false, 0).entries)
	l.Close()
	lines := <-got
	add := "add acl @7 " + regexp.QuoteMeta(path) + " " + canonicalText
	lawful := regexp.MustCompile("^" + add + "(;" + add + ")*\n$")
	if n := len(lines); n < 10 || lines[0] != "prepare acl "+path+"\n" || lines[n-1] != "commit acl @7 "+path+"\n" {
		t.Fatalf("%d lines, %q to %q", n, lines[0], lines[n-1])
	}
	for _, line := range lines[1 : len(lines)-1] {
		if !lawful.MatchString(line) || len(line) > haproxyLine {
			t.Fatalf("line of %d: %q", len(line), line)
		}
	}
}

// onlyLawful takes the fixed lines of an empty list out of the file, and
// matches every other line.
func onlyLawful(t *testing.T, got string, f *File, pattern string) {
	t.Helper()
	empty := newTestFile(t, FileConfig{Format: f.config.Format})
	replace(t, empty, epoch, nil)
	fixed := make(map[string]bool)
	for line := range strings.Lines(read(t, empty.config.Path)) {
		fixed[line] = true
	}
	line := regexp.MustCompile(`^` + strings.Replace(pattern, "ADDR", canonicalText, 1) + `\n$`)
	n := 0
	for l := range strings.Lines(got) {
		if fixed[l] {
			continue
		}
		n++
		if !line.MatchString(l) {
			t.Fatalf("line %.200q", l)
		}
	}
	if n < 100 {
		t.Errorf("only %d lines: nothing was tried", n)
	}
}

// FuzzEntryText: whatever netip can be made to hold, its text is canonical and
// reads back as the same prefix.
func FuzzEntryText(f *testing.F) {
	for _, p := range poison {
		f.Add([]byte(p[:min(len(p), 64)]), p[:min(len(p), 64)], 24)
	}
	canonicalLine := regexp.MustCompile(`^` + canonicalText + `$`)
	f.Fuzz(func(t *testing.T, raw []byte, zone string, bits int) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			var err error
			if addr, err = netip.ParseAddr(zone); err != nil {
				return
			}
		}
		if addr.Is6() {
			addr = addr.WithZone(zone)
		}
		e, ok := entryOf(edgeguard.Block{Prefix: netip.PrefixFrom(addr, bits)})
		if !ok {
			return
		}
		s := prefixText(e.Prefix)
		if !canonicalLine.MatchString(s) {
			t.Fatalf("text %q", s)
		}
		if !strings.Contains(s, "/") {
			s += "/" + map[bool]string{true: "32", false: "128"}[e.Prefix.Addr().Is4()]
		}
		if back, err := netip.ParsePrefix(s); err != nil || back != e.Prefix || back != back.Masked() {
			t.Fatalf("%q reads back as %v, %v", s, back, err)
		}
	})
}
