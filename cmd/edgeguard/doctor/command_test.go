package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
)

// logGroup is a group that no user has but by the unit.
const logGroup = 54321

// unitOf is a unit whose node reads a config, as nobody.
func unitOf(configFile string, gids ...uint32) Unit {
	u := Unit{Found: true, User: "nobody", UID: 65534, GID: 65534, GIDs: append([]uint32{65534}, gids...),
		Command: "{ path=/usr/bin/edgeguard ; argv[]=/usr/bin/edgeguard serve --config " + configFile + " ; }", Folders: []string{filepath.Join(filepath.Dir(configFile), "run")}}
	for _, gid := range u.GIDs {
		u.Groups = append(u.Groups, fmt.Sprint(gid))
	}
	return u
}

// TestMain makes the command of the child this program, as a real one is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "doctor" {
		file := strings.TrimPrefix(os.Args[len(os.Args)-1], "--config=")
		c := examiner(os.Stdout, unitOf(file, logGroup))
		c.SetArgs(os.Args[2:])
		if err := c.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, "edgeguard:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func examiner(out interface{ Write([]byte) (int, error) }, u Unit) *cobra.Command {
	c := Command(&Env{
		Env:  &command.Env{Stdout: out},
		Unit: func(context.Context) (Unit, error) { return u, nil },
	})
	c.SilenceUsage, c.SilenceErrors = true, true
	return c
}

// of returns the finding about something.
func (r *report) of(about string) finding {
	for _, f := range r.Findings {
		if strings.HasPrefix(f.About, about) {
			return f
		}
	}
	return finding{Text: "(nothing about " + about + ")"}
}

// host writes a config and a log that only the unit's group can read.
func host(t *testing.T) (configFile, log string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "doctor") // others may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	configFile, log = filepath.Join(folder, "edgeguard.yaml"), filepath.Join(folder, "access.log")
	err = errors.Join(os.Chmod(folder, 0o755),
		os.WriteFile(log, []byte(`203.0.113.9 - - [23/Nov/2026:11:57:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"`+"\n"), 0o640),
		os.Chown(log, 0, logGroup),
		os.Mkdir(filepath.Join(folder, "state"), 0o755), os.Chown(filepath.Join(folder, "state"), 65534, 65534),
		os.WriteFile(configFile, []byte(`
listen: {auth: ["unix:`+folder+`/run/auth.sock"], admin: ["unix:`+folder+`/run/admin.sock"]}
state: `+folder+`/state
sensors: {accesslog: [{file: `+log+`, format: combined}]}
rules: [{name: small, threshold: 5}]
`), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return configFile, log
}

func doctor(t *testing.T, configFile string, u Unit) (*report, error) {
	t.Helper()
	var out bytes.Buffer
	c := examiner(&out, u)
	c.SetArgs([]string{"--json", "--config=" + configFile})
	failed := c.Execute()
	r := &report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatal(err, out.String())
	}
	return r, failed
}

// TestUnitsVariables: a variable that only the unit sets is none that is missing.
func TestUnitsVariables(t *testing.T) {
	t.Setenv("EDGEGUARD_TEST_STATE", "") // so that it is as before afterwards
	if err := os.Unsetenv("EDGEGUARD_TEST_STATE"); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file, variables := filepath.Join(folder, "edgeguard.yaml"), filepath.Join(folder, "variables")
	err := errors.Join(os.WriteFile(file, []byte("state: ${EDGEGUARD_TEST_STATE}\n"), 0o600),
		os.WriteFile(variables, []byte("EDGEGUARD_TEST_STATE=\""+folder+"/state\"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	u := Unit{Found: true, User: "root", Command: "edgeguard serve --config " + file}
	examined := func() error {
		_, err := examineAsUnit(t.Context(), &Env{Unit: func(context.Context) (Unit, error) { return u, nil }}, file)
		return err
	}
	if err := examined(); err == nil || !strings.Contains(err.Error(), "EDGEGUARD_TEST_STATE is not set") {
		t.Errorf("without the unit's file: %v", err)
	}
	u.Files = []string{"-" + variables}
	if err := examined(); err != nil {
		t.Errorf("with the unit's file: %v", err)
	}
}

// TestAsUnit: root's doctor looks with the rights that the unit gives the node, neither
// with root's nor with those of the user alone.
func TestAsUnit(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	file, log := host(t)
	r, err := doctor(t, file, unitOf(file, logGroup))
	if err != nil || r.As.User != "nobody" || r.As.Unit != UnitName || strings.Join(r.As.Groups, " ") != "65534 54321" || r.Wrong != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	if f := r.of("log " + log); f.Severity != fine {
		t.Errorf("%+v", f)
	}
	// The folder of the sockets is there only while the unit runs.
	if f := r.of("listen.admin[0] unix:"); f.Severity != fine || !strings.Contains(f.Text, "systemd makes "+filepath.Dir(file)+"/run when edgeguard.service starts") {
		t.Errorf("%+v", f)
	}
	// The child's unit has a group that this one has not: the log cannot be read.
	r, _ = doctor(t, file, unitOf(file))
	if f := r.of("log " + log); f.Severity != doubt || !strings.Contains(f.Text, "permission denied: this user has not all groups that edgeguard.service adds") {
		t.Errorf("%v, %+v", err, f)
	}
	if err := os.Chown(log, 0, logGroup+1); err != nil {
		t.Fatal(err)
	}
	r, err = doctor(t, file, unitOf(file, logGroup))
	if f := r.of("log " + log); err == nil || f.Severity != wrong || !strings.Contains(f.Text, "permission denied") {
		t.Errorf("%v, %+v", err, f)
	}
	// Another config is not the unit's.
	r, err = doctor(t, file, unitOf("/etc/other.yaml"))
	if f := r.of("log " + log); r.As.Unit != "" || r.As.User != "root" || f.Severity != fine || err == nil {
		t.Errorf("%v, %+v", err, r)
	}
}

// A config that the node's user may not read is a fault, although root can read it.
func TestConfigOfRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	file, _ := host(t)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := doctor(t, file, unitOf(file, logGroup))
	if f := r.of("unit"); err == nil || f.Severity != wrong || !strings.HasPrefix(f.Text, "as user nobody, who runs the node: config: open "+file+": permission denied") {
		t.Errorf("%v, %+v", err, r)
	}
}

// sudo -u gives the unit's user without the unit's groups: what is denied then is no fault.
func TestLacksGroups(t *testing.T) {
	x := &examination{unit: &Unit{UID: uint32(os.Getuid()), GIDs: []uint32{uint32(os.Getgid())}}}
	if x.lacksGroups() {
		t.Error("it has all groups")
	}
	if x.unit.GIDs = append(x.unit.GIDs, logGroup); !x.lacksGroups() {
		t.Error("it has not the group of the log")
	}
	if x.unit.UID++; x.lacksGroups() {
		t.Error("it is another user")
	}
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	r := newReport(account{User: "edgeguard", Groups: []string{"edgeguard", "adm"}, Unit: UnitName}, []finding{{fine, "clock", "synchronized"}, {doubt, "log /a\x1b.log", "is empty"}, {wrong, "state", "no"}})
	printReport(&command.Env{Stdout: &out}, r)
	want := "Checked as user edgeguard with the groups edgeguard, adm, as edgeguard.service runs the node.\n\nok     clock: synchronized\ndoubt  log /a?.log: is empty\nwrong  state: no\n\n1 ok, 1 in doubt, 1 wrong\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	text, err := json.Marshal(r)
	if want := `{"as":{"user":"edgeguard","groups":["edgeguard","adm"],"unit":"edgeguard.service"},"findings":[{"severity":"ok","about":"clock","text":"synchronized"},`; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
	var severity severity
	if severity.UnmarshalText([]byte("fine")) == nil {
		t.Error("fine is no severity")
	}
}
