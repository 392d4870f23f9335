package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"edgeguard"
	"edgeguard/admin"
)

const tuned = `
node: test
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
state: $DIR/state
rules: [{name: site, threshold: 2000}]
`

// set changes the threshold of rule site, as the API does.
func (u *underTest) set(from, to uint32) error {
	u.t.Helper()
	_, p := u.view().SetThreshold(u.t.Context(), "site", "ops-1", admin.ThresholdRequest{Threshold: to, IfThreshold: from, Note: "ticket 4711", Force: true})
	if p != nil {
		return p
	}
	return nil
}

func (u *underTest) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatalf("%v\n%s", err, u.log)
	}
}

// wants compares the rule's threshold in force with what is expected.
func (u *underTest) wants(threshold uint32) {
	u.t.Helper()
	if r := u.view().Rules()[0]; r.Threshold != threshold {
		u.t.Fatalf("the threshold in force is %d, want %d\n%s", r.Threshold, threshold, u.log)
	}
}

// A changed threshold is in force immediately and no count is lost: of an address
// with 790 requests the next one is refused. It is in force after a restart, and
// undoing it brings the config's back.
func TestThresholdChangesWhileRunning(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	for range 790 {
		if v := u.request("203.0.113.9"); v.Action != edgeguard.ActionPass {
			t.Fatalf("under the limit: %+v", v)
		}
	}
	u.must(u.set(2000, 800))
	if n := u.count("203.0.113.9"); n != 790 {
		t.Errorf("%d requests are counted after the change, want 790", n)
	}
	if v := u.request("203.0.113.9"); v.Action != edgeguard.ActionDeny || v.Rule != "site" {
		t.Errorf("the 791st: %+v", v)
	}
	if v := u.request("203.0.113.10"); v.Action != edgeguard.ActionPass {
		t.Errorf("another address: %+v", v)
	}
	if o := u.view().Rules()[0].Overlay; o == nil || o.Threshold != 800 || o.Base != 2000 || o.By != "ops-1" || o.Note != "ticket 4711" || o.Since.IsZero() {
		t.Errorf("shown as %+v", o)
	}
	if err := u.set(2000, 900); err == nil || !strings.Contains(err.Error(), "800 and not 2000: changed at") || !strings.Contains(err.Error(), "by ops-1") {
		t.Errorf("against the former threshold: %v", err)
	}
	u.wants(800)
	u.stop()

	u = newNode(t, u.folder, tuned).start()
	u.wants(800)
	if n := u.count("203.0.113.10"); n != 1 {
		t.Errorf("after a restart %d requests are counted, want 1", n)
	}
	was, now, p := u.view().EndOverlay("site")
	if p != nil || was != 800 || now != 2000 {
		t.Errorf("undone: %d, %d, %v", was, now, p)
	}
	u.wants(2000)
	if _, _, p := u.view().EndOverlay("site"); p == nil || p.Status != http.StatusNotFound {
		t.Errorf("undone twice: %v", p)
	}
	u.stop()
	newNode(t, u.folder, tuned).start().wants(2000)
}

// Of two changes that begin from one threshold, one is made; the other is refused
// with the threshold that is in force. Counts go on beside them.
func TestThresholdChangesOnce(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(tuned, "2000", "60000", 1)).start()
	const changes, requests = 8, 2000
	from := uint32(60000)
	for round := range 10 {
		var wg sync.WaitGroup
		errs := make([]error, changes)
		for i := range changes {
			wg.Go(func() { errs[i] = u.set(from, 50000+uint32(round*100+i)) })
		}
		wg.Go(func() {
			for range requests {
				u.request("203.0.113.9")
			}
		})
		wg.Go(func() { _ = u.Reload() })
		wg.Wait()
		made := 0
		for i, err := range errs {
			if err == nil {
				made++
				from = 50000 + uint32(round*100+i)
			}
		}
		if made != 1 {
			t.Fatalf("round %d: %d of %d changes were made: %v", round, made, changes, errs)
		}
		u.wants(from)
	}
	if n := u.count("203.0.113.9"); n != 10*requests {
		t.Errorf("counted %d of %d", n, 10*requests)
	}
}

// A config with another threshold than the one that the overlay started from ends
// it, at a reload and at a start. Any other reload leaves it.
func TestConfigEndsOverlay(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	u.must(u.set(2000, 800))
	u.yaml = strings.Replace(tuned, "threshold: 2000", "threshold: 2000, block_for: 1h", 1)
	u.must(u.Reload())
	u.wants(800)
	u.yaml = strings.Replace(tuned, "2000", "1500", 1)
	u.must(u.Reload())
	u.wants(1500)
	u.eventually("it is an alarm", func() bool { return strings.Contains(u.log.String(), "the overlay of rule site has ended") })
	if page := u.audited(); len(page) != 1 || page[0].Who != "config" || page[0].Action != "end overlay" || page[0].Target != "site" {
		t.Errorf("audit: %+v", page)
	}
	u.must(u.set(1500, 800))
	u.stop()
	u = newNode(t, u.folder, strings.Replace(tuned, "2000", "1600", 1)).start()
	u.wants(1600)
	u.stop()
	u = newNode(t, u.folder, strings.Replace(tuned, "2000", "1500", 1)).start()
	u.wants(1500) // the ended overlay does not come back
}

// audited returns what the API says of changes.
func (u *underTest) audited() []admin.Audit {
	u.t.Helper()
	desk := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, "admin.sock"))
	}}}
	answer, err := desk.Get("http://localhost/api/v1/audit")
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var page admin.AuditPage
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		u.t.Fatal(err)
	}
	return page.Audit
}

// A rule that is gone keeps its overlay out: it is reported, and in force again with
// the rule, until it is removed.
func TestOverlayOfARuleThatIsGone(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	u.must(u.set(2000, 800))
	u.yaml = strings.Replace(tuned, "name: site", "name: page", 1)
	u.must(u.Reload())
	u.wants(2000)
	if unused := u.view().Unused(); len(unused) != 1 || unused[0].Rule != "site" {
		t.Errorf("unused: %+v", unused)
	}
	u.eventually("it is a condition", func() bool { return strings.Contains(u.conditions(), "overlay of rule site") })
	u.yaml = tuned
	u.must(u.Reload())
	u.wants(800)
	if said := u.conditions(); said != "" || len(u.view().Unused()) != 0 {
		t.Errorf("still reported: %s", said)
	}
	u.yaml = strings.Replace(tuned, "name: site", "name: page", 1)
	u.must(u.Reload())
	if _, _, p := u.view().EndOverlay("site"); p != nil {
		t.Fatal(p)
	}
	u.yaml = tuned
	u.must(u.Reload())
	u.wants(2000)
}

// A rule of the same name that counts something else ends the overlay.
func TestOverlayOfAnotherMeter(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	u.must(u.set(2000, 800))
	u.yaml = strings.Replace(tuned, "threshold: 2000", "threshold: 2000, window: 1h", 1)
	u.must(u.Reload())
	u.wants(2000)
	u.yaml = tuned
	u.must(u.Reload())
	u.wants(2000)
}

// A file that cannot be used never stops a start: it is renamed, with an alarm.
func TestOverlayThatCannotBeUsed(t *testing.T) {
	for name, write := range map[string]func(string) error{
		"broken":    func(f string) error { return os.WriteFile(f, []byte("rules: [{rule: site"), 0o600) },
		"a config":  func(f string) error { return os.WriteFile(f, []byte("rules: [{name: site, threshold: 5}]"), 0o600) },
		"binary":    func(f string) error { return os.WriteFile(f, []byte{0, 1, 2, 0xff}, 0o600) },
		"too large": func(f string) error { return os.WriteFile(f, make([]byte, 3<<20), 0o600) },
		"a folder":  func(f string) error { return os.Mkdir(f, 0o700) },
		"a pipe":    func(f string) error { return syscall.Mkfifo(f, 0o600) },
		"foreign": func(f string) error {
			const good = "rules: [{rule: site, meter: x, threshold: 800, base: 2000}]"
			return errors.Join(os.WriteFile(f, []byte(good), 0o644), os.Chown(f, 65534, 65534))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "foreign" && os.Getuid() != 0 {
				t.Skip("only root can make a file of another user")
			}
			folder := shortDir(t)
			file := filepath.Join(folder, "state", "overlay.yaml")
			if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), write(file)); err != nil {
				t.Fatal(err)
			}
			u := newNode(t, folder, tuned).start()
			u.wants(2000)
			u.eventually("it is an alarm", func() bool {
				return strings.Contains(u.log.String(), "cannot be used") && strings.Contains(u.log.String(), file+".aside-1")
			})
			if _, err := os.Lstat(file + ".aside-1"); err != nil {
				t.Error(err)
			}
			u.must(u.set(2000, 800))
			u.stop()
			newNode(t, folder, tuned).start().wants(800)
		})
	}
}

// Where nothing can be written nothing changes, and the answer says why.
func TestOverlayThatCannotBeWritten(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	file := filepath.Join(u.folder, "state", "overlay.yaml")
	if err := os.Mkdir(file, 0o700); err != nil { // no write can replace a folder, not even root's
		t.Fatal(err)
	}
	err := u.set(2000, 800)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("set: %v", err)
	}
	u.wants(2000)
	if left, _ := filepath.Glob(filepath.Join(u.folder, "state", ".overlay*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	u.must(os.Remove(file))
	u.must(u.set(2000, 800))
}

// Without a state folder, and where the config forbids it, nothing can be changed,
// and a file that is there is not in force. It is again when the config allows it.
func TestOverlayForbidden(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(tuned, "state: $DIR/state", "", 1))
	u.pipeline.Current().Config.State = ""
	bare := *u.pipeline.Current().Config
	if n, err := New(&bare, Options{}); err != nil {
		t.Fatal(err)
	} else if _, p := n.view().SetThreshold(t.Context(), "site", "", admin.ThresholdRequest{Threshold: 800, IfThreshold: 2000}); p == nil || p.Status != http.StatusConflict || !strings.Contains(p.Detail, "no state folder") {
		t.Errorf("without a state folder: %v", p)
	}

	u = newNode(t, shortDir(t), tuned).start()
	u.must(u.set(2000, 800))
	u.yaml = tuned + "overlay: false\n"
	u.must(u.Reload())
	u.wants(2000)
	if _, p := u.view().SetThreshold(t.Context(), "site", "", admin.ThresholdRequest{Threshold: 900, IfThreshold: 2000}); p == nil || p.Status != http.StatusForbidden || !strings.Contains(p.Detail, "overlay: false") {
		t.Errorf("forbidden by the config: %v", p)
	}
	u.eventually("it is logged", func() bool { return strings.Contains(u.log.String(), "the overlay is not in force") })
	u.yaml = tuned
	u.must(u.Reload())
	u.wants(800)
}

// A threshold that would refuse more than a fifth of the requests has to be
// confirmed, as a block by hand has. A higher one never.
func TestThresholdThatRefusesMuch(t *testing.T) {
	u := newNode(t, shortDir(t), tuned).start()
	try := func(from, to uint32, force bool) error {
		_, p := u.view().SetThreshold(t.Context(), "site", "", admin.ThresholdRequest{Threshold: to, IfThreshold: from, Force: force})
		if p != nil {
			return p
		}
		return nil
	}
	for i := range 3000 {
		u.request(fmt.Sprintf("203.0.113.%d", i%3)) // a third of the requests each
	}
	for i := range 1000 {
		u.request(fmt.Sprintf("198.51.%d.%d", i/250, i%250))
	}
	err := try(2000, 800, false)
	if err == nil || !strings.Contains(err.Error(), "more than the limit of 20 %") || !strings.Contains(err.Error(), "use force") {
		t.Errorf("three quarters of the requests: %v", err)
	}
	if err := try(2000, 0, false); err == nil || !strings.Contains(err.Error(), "is missing or 0") {
		t.Errorf("no threshold: %v", err)
	}
	u.wants(2000)
	u.must(try(2000, 1200, false)) // nobody is over it
	u.must(try(1200, 3000, false))
	u.must(try(3000, 800, true))
	u.wants(800)
}
