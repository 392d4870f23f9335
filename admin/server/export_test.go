package server_test

import (
	"encoding/csv"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
)

// table asks for blocks as CSV.
func (s *served) table(t *testing.T, query string) [][]string {
	t.Helper()
	status, body := s.ask(t, request{method: "GET", path: "/api/v1/blocks" + query, unix: true, header: map[string]string{"Accept": "text/csv"}})
	rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	if status != 200 || err != nil || len(rows) == 0 || rows[0][0] != "prefix" {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	return rows[1:]
}

// An export has all blocks of the list, over all pages and in its order.
func TestExport(t *testing.T) {
	n := newNode()
	n.list.Restore(manyBlocks(2500), start)
	s := serve(t, n, server.Config{})
	for _, query := range []string{"?order=newest", "?order=newest&rule=site", "?order=count", "?order=newest&dir=asc", "?prefix=20.0.0.0/21", "?contains=20.0.0.9", "?rule=none", "?limit=1"} {
		var want []string
		paged := strings.Replace(query, "?limit=1", "?limit=1000", 1)
		for next, cursor := "-", ""; next != ""; cursor = "&cursor=" + next {
			page := decode[admin.BlockPage](t, s, "/api/v1/blocks"+paged+cursor)
			for _, b := range page.Blocks {
				want = append(want, b.Prefix.String())
			}
			next = page.Next
		}
		rows := s.table(t, query)
		if len(rows) != len(want) {
			t.Fatalf("%s: %d rows, want %d", query, len(rows), len(want))
		}
		for i, row := range rows {
			if row[0] != want[i] || row[1] != "site" || row[6] != start.Add(-time.Duration(rowNumber(t, row[0])+1)*time.Millisecond).Format(time.RFC3339) {
				t.Fatalf("%s: row %d is %q, want %s", query, i, row, want[i])
			}
		}
	}
}

// As JSON lines, an export has the same blocks with all their fields, as a page has
// them.
func TestExportJSONLines(t *testing.T) {
	n := newNode()
	n.list.Restore(manyBlocks(2500), start)
	n.mustBlock(t, "203.0.113.7/32", "a\nb\u2028\"", "n2")
	s := serve(t, n, server.Config{})
	for _, query := range []string{"", "order=newest", "order=ends&dir=desc", "origin=n2", "rule=none"} {
		var want []admin.ActiveBlock
		for next, cursor := "-", ""; next != ""; cursor = "&cursor=" + url.QueryEscape(next) {
			page := decode[admin.BlockPage](t, s, "/api/v1/blocks?limit=700&"+query+cursor)
			want, next = append(want, page.Blocks...), page.Next
		}
		status, body := s.ask(t, request{method: "GET", path: "/api/v1/blocks?" + query, unix: true, header: map[string]string{"Accept": "application/x-ndjson"}})
		var got []admin.ActiveBlock
		for line := range strings.Lines(string(body)) {
			var b admin.ActiveBlock
			if err := json.Unmarshal([]byte(line), &b); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got = append(got, b)
		}
		if status != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d, %d blocks, want %d", query, status, len(got), len(want))
		}
	}
}

// rowNumber returns the number of an address of manyBlocks.
func rowNumber(t *testing.T, prefix string) int {
	t.Helper()
	for i := range uint32(2500) {
		if numbered(i).String() == prefix {
			return int(i)
		}
	}
	t.Fatalf("%s is none of them", prefix)
	return 0
}

// No text becomes a formula in a spreadsheet, or another cell.
func TestExportedTextsAreTexts(t *testing.T) {
	n := newNode()
	reasons := []string{"=1+1", "+1", "-1", "@x", " =1", "\u00a0\u2003@x", "＝1", "－1", "a,b\"c\"", "ordinary", " a=1", ""}
	for i, reason := range reasons {
		b := edgeguard.Block{Prefix: numbered(uint32(i)), Rule: edgeguard.ManualRule, Reason: reason, Origin: "n1", Since: start, Until: start.Add(time.Hour)}
		if _, _, err := n.list.Add(b, false, start); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range serve(t, n, server.Config{}).table(t, "") {
		want := reasons[i]
		if i < 8 {
			want = "'" + want
		}
		if row[2] != want || row[9] != "0" {
			t.Errorf("%q became %q", reasons[i], row)
		}
	}
}
