package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/internal/safetext"
)

// asks decides requests of an address for a path.
func (u *underTest) asks(addr, path, agent string, times int) {
	for range times {
		now := u.clock.Now()
		event := requestOf(addr, now)
		event.Known |= edgeguard.FieldPath | edgeguard.FieldMethod | edgeguard.FieldAgent
		event.Method, event.Path, event.Agent = "GET", path, agent
		u.pipeline.Decide(now, &event)
	}
}

// An operator sees what a blocked address asked for, cut and harmless; it is in no
// file of the node, and gone after a restart.
func TestSamples(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	u := newNode(t, folder, oneLog).start()
	const addr, secret = "203.0.113.9", "/patients/4711"
	hostile := secret + strings.Repeat("\xff\x1b[2J\u202e<script>", 400)
	u.asks(addr, hostile+"?token=s3cret", hostile, 400)
	u.asks("203.0.113.10", secret, "curl", 100)
	status, body := u.get("/api/v1/samples/" + addr)
	var got admin.SampleList
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
		t.Fatalf("%d %v %s", status, err, body)
	}
	refused := 0
	for _, one := range got.Samples {
		if !strings.HasPrefix(one.Path, secret) || len(one.Path) > 400 || one.Method != "GET" || one.Address.String() != addr {
			t.Errorf("%+v", one)
		}
		if one.Refused {
			refused++
		}
	}
	if len(got.Samples) < 10 || refused == 0 || refused == len(got.Samples) || !safetext.Clean(strings.TrimSpace(body)) || strings.Contains(body, "<script>") {
		t.Errorf("%d samples, %d refused: %q", len(got.Samples), refused, body)
	}
	if status, body := u.get("/api/v1/samples/203.0.113.10"); status != 404 {
		t.Errorf("of an address far from every limit: %d %s", status, body)
	}
	tables := u.view().Stats().Tables
	if part := tables.Parts["samples"]; part == 0 || tables.Limit != u.pipeline.Current().Config.Memory || tables.Used < part {
		t.Errorf("memory: %+v", tables)
	}
	u.stop()
	if err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(read(t, path), secret) {
			t.Errorf("%s has it", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	u = newNode(t, folder, oneLog).start()
	if status, body := u.get("/api/v1/samples/" + addr); status != 404 || !u.blocked(addr) {
		t.Errorf("after a restart: %d %s", status, body)
	}
}

// With samples: 0 none is kept, and the tables have all of the memory.
func TestNoSamples(t *testing.T) {
	t.Parallel()
	u := newNode(t, shortDir(t), oneLog+"samples: 0\n").start()
	u.asks("203.0.113.9", "/", "curl", 400)
	if status, body := u.get("/api/v1/samples/203.0.113.9"); status != 404 || !strings.Contains(body, "keeps no samples") {
		t.Errorf("%d %s", status, body)
	}
	if limit := u.pipeline.Memory().Limit; limit != u.pipeline.Current().Config.Memory {
		t.Errorf("the tables have %d bytes", limit)
	}
}
