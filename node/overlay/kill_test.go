package overlay_test

import (
	"os"
	"testing"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Clean()
	os.Exit(code)
}

// A change that was answered is in force after the process was killed.
func TestKilledNodeKeepsChange(t *testing.T) {
	n := program.NewNode(t, `
node: a
state: $DIR/state
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
rules: [{name: site, threshold: 2000}]
`)
	desk, err := client.New(client.Config{Address: "unix:" + n.Path("admin.sock")})
	if err != nil {
		t.Fatal(err)
	}
	start := func() {
		t.Helper()
		n.Launch()
		n.Until("the node answers", func() bool { _, err := desk.Rules(t.Context()); return err == nil })
	}
	threshold := func() uint32 {
		t.Helper()
		list, err := desk.Rules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list.Rules[0].Threshold
	}
	start()
	if _, err := desk.SetThreshold(t.Context(), "site", admin.ThresholdRequest{Threshold: 800, IfThreshold: 2000}); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	start()
	if got := threshold(); got != 800 {
		t.Errorf("after the kill the threshold is %d, want 800", got)
	}
	if _, err := desk.EndOverlay(t.Context(), "site"); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	start()
	if got := threshold(); got != 2000 {
		t.Errorf("after the undo and a kill the threshold is %d, want 2000", got)
	}
}
