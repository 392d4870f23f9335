package node

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// post asks the node's admin for a change, over its socket.
func (u *underTest) post(path, body string) {
	u.t.Helper()
	u.send(http.MethodPost, path, body)
}

// send is as post, by any method. It waits for as long as the answer takes.
func (u *underTest) send(method, path, body string) {
	u.t.Helper()
	desk := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, "admin.sock"))
	}}}
	r, err := http.NewRequestWithContext(u.t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := desk.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode/100 != 2 {
		u.t.Fatalf("%s %s: %d %s", path, body, answer.StatusCode, text)
	}
}

// What operators changed by hand is read after a restart, and after a kill.
func TestAuditIsKept(t *testing.T) {
	t.Parallel()
	folder := shortDir(t)
	u := newNode(t, folder, oneLog).start()
	for _, prefix := range []string{"203.0.113.7", "203.0.113.8"} {
		u.post("/api/v1/blocks", `{"prefix":"`+prefix+`","reason":"scraper"}`)
	}
	want := u.audited()
	if len(want) != 2 || want[0].Target != "203.0.113.8" || want[0].Result != "ok" {
		t.Fatalf("%+v", want)
	}
	saved := filepath.Join(folder, "state", eventsFolder, "changes-0000000000000001.log")
	u.eventually("it is saved", func() bool { return strings.Contains(read(t, saved), "203.0.113.8") })
	if got := newNode(t, u.killed(), oneLog).start().audited(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a kill: %+v", got)
	}
	u.stop()
	u = newNode(t, folder, oneLog).start()
	if got := u.audited(); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: %+v", got)
	}
	u.post("/api/v1/reload", "")
	if got := u.audited(); len(got) != 3 || got[0].Action != "reload" || !reflect.DeepEqual(got[1:], want) {
		t.Errorf("and one more: %+v", got)
	}
}
