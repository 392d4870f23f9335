package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/internal/safetext"
)

// hostile is what a terminal must not be sent, in each way it can be written.
const hostile = "x\x1b[2J\x07\r\x7f\u009b31m\u202eb"

// TestHostileNode: no command prints a character that a terminal acts on, in
// whichever field of a node's answer it is: other nodes wrote most of them.
func TestHostileNode(t *testing.T) {
	for _, yes := range []bool{false, true} {
		node := httptest.NewServer(hostileNode(yes))
		tryHostile(t, strings.TrimPrefix(node.URL, "http://"))
		node.Close()
	}
}

func tryHostile(t *testing.T, at string) {
	for _, c := range []struct {
		args []string
		rows int // lines that the hostile fields fill at least
	}{
		{[]string{"blocks", "list"}, 2},
		{[]string{"blocks", "held"}, 2},
		{[]string{"blocks", "add", "203.0.113.9"}, 1},
		{[]string{"blocks", "remove", "203.0.113.9"}, 2},
		{[]string{"blocks", "remove", "198.51.100.1"}, 1}, // refused
		{[]string{"blocks", "confirm", "--all"}, 1},
		{[]string{"allow", "list"}, 2},
		{[]string{"allow", "add", "203.0.113.9"}, 1},
		{[]string{"allow", "remove", "203.0.113.9"}, 1},
		{[]string{"explain", "203.0.113.9"}, 8},
		{[]string{"explain", "203.0.113.10"}, 8}, // not blocked, for a reason
		{[]string{"explain", "203.0.113.11"}, 8}, // not blocked
		{[]string{"top"}, 8},
	} {
		var out bytes.Buffer
		e := &command.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
		run(t.Context(), e, append(c.args, "--admin", at))
		if lines := strings.Count(out.String(), "\n"); lines < c.rows {
			t.Errorf("%v prints %d lines, want at least %d:\n%q", c.args, lines, c.rows, &out)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if !safetext.Clean(line) {
				t.Errorf("%v prints %q", c.args, line)
			}
		}
	}
}

// hostileNode answers each call with hostile text in every string, and yes in
// every bool.
type hostileNode bool

func (yes hostileNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "198.51.100.1"):
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		answer = &call.Problem{}
	case path == "/api/v1/status":
		answer = &admin.Stats{}
	case path == "/api/v1/top":
		answer = &admin.Top{}
	case strings.HasPrefix(path, "/api/v1/explain/"):
		answer = &admin.Explanation{}
	case path == "/api/v1/held":
		answer = &admin.HeldPage{}
	case path == "/api/v1/held/confirm":
		answer = &admin.Confirmed{}
	case path == "/api/v1/allow" && r.Method == http.MethodGet:
		answer = &admin.AllowanceList{}
	case strings.HasPrefix(path, "/api/v1/allow"):
		answer = &admin.Allowance{}
	case path == "/api/v1/blocks" && r.Method == http.MethodGet:
		answer = &admin.BlockPage{}
	default:
		answer = &admin.Block{}
	}
	filled := filler{yes: bool(yes)}
	filled.fill(reflect.ValueOf(answer).Elem())
	if x, ok := answer.(*admin.Explanation); ok && !strings.HasSuffix(r.URL.Path, ".9") {
		x.Block = nil
		if strings.HasSuffix(r.URL.Path, ".11") {
			x.Because = ""
		}
	}
	if next := reflect.ValueOf(answer).Elem().FieldByName("Next"); next.IsValid() {
		next.SetString("")
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// filler puts a hostile text of its own in every string, and something elsewhere.
type filler struct {
	yes     bool
	strings int
}

func (f *filler) fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *netip.Prefix:
		*x = netip.MustParsePrefix("203.0.113.0/24")
		return
	case *netip.Addr:
		*x = netip.MustParseAddr("203.0.113.9")
		return
	case *time.Time:
		*x = time.Now()
		return
	}
	switch v.Kind() {
	case reflect.String:
		f.strings++
		v.SetString(hostile + strconv.Itoa(f.strings))
	case reflect.Bool:
		v.SetBool(f.yes)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(3)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	}
}
