package console

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"edgeguard/admin"
)

// Each head of the list, followed twice, gives both directions of its order, as the
// API has them, and says which it is. So does the form, and pages follow each other.
func TestOrders(t *testing.T) {
	n := start(t, "")
	for i := range 60 {
		if _, err := n.admin.Block(t.Context(), admin.BlockRequest{Prefix: fmt.Sprintf("198.51.100.%d", i), For: fmt.Sprintf("%dm", 60+i*37%60)}); err != nil {
			t.Fatal(err)
		}
	}
	head := regexp.MustCompile(`<th scope="col"[^>]*?(?: aria-sort="([a-z]+)")?><a href="([^"]+)"`)
	for column, order := range []string{"prefix", "ends", "count"} {
		path := "/blocked"
		for range 2 {
			path = html.UnescapeString(head.FindAllStringSubmatch(n.get(path, true).body, -1)[column][2])
			query, err := url.Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			sort := map[string]string{"asc": "ascending", "desc": "descending"}[query.Query().Get("dir")]
			if got := head.FindAllStringSubmatch(n.get(path, true).body, -1)[column][1]; got != sort || query.Query().Get("order") != order {
				t.Fatalf("%s says %q", path, got)
			}
			n.sameOrder(path, query.Query())
		}
	}
	n.sameOrder("/blocked?order=newest+asc", url.Values{"order": {"newest"}, "dir": {"asc"}})
	n.sameOrder("/blocked?order=", url.Values{"order": {"newest"}})
	n.has("/blocked?order=ends+desc&rule=manual", `<option value="ends desc" selected>`)
}

// sameOrder compares the rows of all pages with the API's list.
func (n *ownNode) sameOrder(path string, query url.Values) {
	n.t.Helper()
	var want, got []string
	query.Set("limit", "1000")
	var all admin.BlockPage
	if err := json.Unmarshal([]byte(n.get("/api/v1/blocks?"+query.Encode(), true).body), &all); err != nil {
		n.t.Fatal(err)
	}
	for _, b := range all.Blocks {
		want = append(want, strings.TrimSuffix(b.Prefix.String(), "/32"))
	}
	row := regexp.MustCompile(`<td class="who"><a class="mono addr" href="[^"]+">(.+?)</a>`)
	next := regexp.MustCompile(`<a class="button" href="([^"]+)">Next page</a>`)
	for from := path; from != ""; {
		body := n.get(from, true).body
		for _, found := range row.FindAllStringSubmatch(body, -1) {
			got = append(got, strings.ReplaceAll(found[1], "<wbr>", ""))
		}
		from = ""
		if found := next.FindStringSubmatch(body); found != nil {
			from = html.UnescapeString(found[1])
		}
	}
	if !slices.Equal(got, want) || len(want) < 60 {
		n.t.Errorf("%s shows %d rows, the API has %d:\n%v\n%v", path, len(got), len(want), got, want)
	}
}
