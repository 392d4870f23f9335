package snapshot

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"edgeguard/internal/atomicfile"
)

const (
	childPath  = "EDGEGUARD_TEST_STATE"
	childStage = "EDGEGUARD_TEST_KILL_AT"
	childFrom  = "EDGEGUARD_TEST_FROM"
	records    = 3000 // of each kind: several frames
)

// numbered is a state every record of which carries the number n.
func numbered(n uint64) *state {
	s := &state{cut: Cut{Node: strconv.FormatUint(n, 10), Taken: noon}}
	m := meterState{Meter: Meter{Fingerprint: "m", Width: 5}}
	for i := range records {
		b := block("10.0.0.0/32", noon.Add(time.Hour))
		b.Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
		b.Version = n
		s.blocks = append(s.blocks, b)
		w := window(b.Prefix.String(), slot(noon, 5), uint16(n%1000)+1)
		m.windows = append(m.windows, w)
	}
	s.meters = []meterState{m}
	s.positions = []Position{{"log", []byte(s.cut.Node)}}
	return s
}

// writeForEver is the child: it writes one snapshot after the other and says
// which is safe, until it is killed, or kills itself at the named stage of the
// fifth.
func writeForEver(path string) {
	from, _ := strconv.ParseUint(os.Getenv(childFrom), 10, 64)
	at := atomicfile.Stage(os.Getenv(childStage))
	for n := from; ; n++ {
		s := numbered(n)
		writes := 0
		w, err := create(path, s.cut, func(reached atomicfile.Stage) error {
			writes++
			if n == from+5 && reached == at && (at != atomicfile.BeforeWrite || writes == 3) {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
				select {}
			}
			return nil
		})
		if err == nil {
			s.write(w)
			err = w.Commit()
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

// TestKill kills a writing process again and again, at any moment and between
// the stages: the file is always whole, and at least as new as the last one
// that was said to be safe.
func TestKill(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 20
	}
	rng := seeded(t)
	path := filepath.Join(t.TempDir(), "state")
	stages := []atomicfile.Stage{"", atomicfile.BeforeWrite, "", atomicfile.BeforeSync, "", atomicfile.BeforeRename, "", atomicfile.BeforeSyncFolder}
	var safe uint64
	for i := range times {
		from := safe + 1
		safe = max(safe, killOnce(t, rng, path, stages[i%len(stages)], from))
		got := loadNumber(t, path)
		if got < safe {
			t.Fatalf("run %d: snapshot %d was safe, %d is on the disk", i, safe, got)
		}
		safe = got
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) > 2 {
		t.Errorf("more than the state and one leftover: %v, %v", list, err)
	}
}

// killOnce runs the child, kills it, and returns the last number that it said.
func killOnce(t *testing.T, rng *rand.Rand, path string, at atomicfile.Stage, from uint64) (safe uint64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childPath+"="+path, childStage+"="+string(at), childFrom+"="+strconv.FormatUint(from, 10))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	defer child.Process.Kill()
	said := bufio.NewScanner(out)
	for said.Scan() {
		n, err := strconv.ParseUint(said.Text(), 10, 64)
		if err != nil {
			t.Fatalf("the child: %s", said.Text())
		}
		safe = n
		if at == "" && n == from+1 {
			// A snapshot takes the child some milliseconds: any moment of it.
			kill := time.AfterFunc(time.Duration(rng.Int64N(int64(8*time.Millisecond))), func() { _ = child.Process.Kill() })
			defer kill.Stop()
		}
	}
	return safe
}

// loadNumber loads the file and checks that it is all of one snapshot.
func loadNumber(t *testing.T, path string) uint64 {
	t.Helper()
	var got state
	l, err := LoadFile(path, noon, got.sink())
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(l.Node, 10, 64)
	if err != nil || l.Windows != records || l.Blocks != records || string(got.positions[0].Place) != l.Node {
		t.Fatalf("%+v, %v, %s", l, err, got.positions[0].Place)
	}
	for i, b := range got.blocks {
		if w := got.meters[0].windows[i]; b.Version != n || w.Counts.Sum() != uint32(n%1000)+1 {
			t.Fatalf("in snapshot %d: %+v, %+v", n, b, w)
		}
	}
	return n
}
