package node

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
)

// oneLog follows a log; its rule has slots of five seconds.
const oneLog = `
node: edge-1
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"]}
sensors: {accesslog: [{file: $DIR/access.log, format: combined}]}
rules: [{name: site, threshold: 300, guard: 1, window: 5m}]
`

// evidence asks for that of an address's block.
func (u *underTest) evidenceOf(addr string) (e admin.Evidence) {
	u.t.Helper()
	status, body := u.get("/api/v1/evidence/" + addr)
	if status != 200 {
		u.t.Fatalf("%d %s", status, body)
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		u.t.Fatal(err)
	}
	return e
}

// bySlot returns what is not 0 of slots by when they begin.
func bySlot(slots []uint16, last time.Time) map[int64]int {
	out := make(map[int64]int)
	for i, n := range slots {
		if n > 0 {
			out[last.Unix()/5*5-int64(5*(len(slots)-1-i))] = int(n)
		}
	}
	return out
}

// The evidence has the slots that the generator filled, up to the request that
// exceeded the limit, also when later lines were counted in the same batch. It is
// still there after a kill, and the counts of the time after it are not in it.
func TestEvidence(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	file := filepath.Join(folder, "access.log")
	writeLog(t, file, "203.0.113.1", 1)
	u := newNode(t, folder, oneLog).start()

	const addr, limit, perSlot = "203.0.113.9", 300, 37
	lines, want, at := "", make(map[int64]int), time.Now().Add(-200*time.Second)
	for i := range 600 {
		when := at.Add(time.Duration(i/perSlot*7) * time.Second)
		lines += fmt.Sprintf("%s - - [%s] \"GET / HTTP/1.1\" 200 5 \"-\" \"test\"\n", addr, when.Format("02/Jan/2006:15:04:05 -0700"))
		if i <= limit {
			want[when.Unix()/5*5]++
		}
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(lines); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	u.eventually("all is counted", func() bool { return u.count(addr) == 600 })

	e := u.evidenceOf(addr)
	if got := bySlot(e.Slots, e.Since); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", got, want)
	}
	if e.Count != limit+1 || e.Limit != limit || e.Threshold != limit || e.Rule != "site" || e.Origin != "edge-1" || e.Fleet || e.Split != nil || e.Window != 300 {
		t.Errorf("%+v", e)
	}
	x := u.view().Explain(u.view().Now(), netip.MustParseAddr(addr))
	crossed := at.Add(limit/perSlot*7*time.Second).Unix() / 5 * 5
	for begins, n := range bySlot(x.Rules[0].Slots, x.Time) {
		if begins < crossed && n != want[begins] {
			t.Errorf("slot %d counts %d in the explanation and %d in the evidence", begins, n, want[begins])
		}
	}
	if block := u.standing(addr); !block.Since.Equal(u.clock.Local(e.Since)) {
		t.Errorf("the block began at %v, the evidence is of %v", block.Since, e.Since)
	}

	saved := filepath.Join(folder, "state", evidenceFileName)
	u.eventually("it is saved", func() bool { return read(t, saved) != "" })
	again := newNode(t, u.killed(), oneLog).start().evidenceOf(addr)
	if fmt.Sprint(again) != fmt.Sprint(e) {
		t.Errorf("after a kill: %+v, want %+v", again, e)
	}
}

// A lifted block's evidence stays for a day, and one by hand has none.
func TestEvidenceOfOtherBlocks(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog).start()
	for range 301 {
		u.request("203.0.113.9")
	}
	now := u.view().Now()
	if _, ok := u.view().Unblock(netip.MustParsePrefix("203.0.113.9/32"), "a mistake"); !ok {
		t.Fatal("nothing was lifted")
	}
	if e := u.evidenceOf("203.0.113.9"); e.Until.After(u.view().Now()) || e.Until.Before(now.Add(-time.Second)) {
		t.Errorf("lifted after %v, the evidence says %v", now, e.Until)
	}
	byHand := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.0/24"), Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Hour)}
	if _, err := u.view().Block(byHand, false); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		"198.51.100.0/24": "by hand", "198.51.100.1": "use 198.51.100.0/24", "192.0.2.1": "has made no block",
	} {
		if status, body := u.get("/api/v1/evidence/" + path); status != 404 || !strings.Contains(body, why) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// A file of evidence that is broken costs the evidence alone, and says so.
func TestBrokenEvidence(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	u := newNode(t, folder, oneLog).start()
	for range 301 {
		u.request("203.0.113.9")
	}
	u.stop()
	if err := os.WriteFile(filepath.Join(folder, "state", evidenceFileName), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, folder, oneLog).start()
	if !u.blocked("203.0.113.9") {
		t.Error("the block was lost with its evidence")
	}
	if status, body := u.get("/api/v1/evidence/203.0.113.9"); status != 404 {
		t.Errorf("%d %s", status, body)
	}
	u.eventually("the log says so", func() bool {
		return len(read(t, folder, "state", evidenceFileName+".aside-1")) > 0
	})
}
