package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordsFromBeforeTheKey: a node that requires signatures alarms about the
// records of its state that have none, and names the fix, also while Redis is
// away.
func TestRecordsFromBeforeTheKey(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	key := filepath.Join(folder, "fleet.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	yaml := strings.NewReplacer("$NAME", "edge-0", "$REDIS", "127.0.0.1:1").Replace(oneOfThree)
	required := strings.Replace(yaml, "namespace: test", "namespace: test, key_mode: require, key_file: "+key, 1)
	u := newNode(t, folder, yaml).start()
	if err := u.blockHere("203.0.113.7/32"); err != nil {
		t.Fatal(err)
	}
	u.stop()
	u = newNode(t, folder, required).start()
	u.eventually("the alarm", func() bool {
		return strings.Contains(u.conditions(), "1 records of this node's list are not signed") && strings.Contains(u.conditions(), "edgeguard fleet sign")
	})
}
