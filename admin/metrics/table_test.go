package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Every row is in the list of docs/api.md, which is made of a scrape, and so is what the
// golden file of admin/server holds: the node of its tests has every figure.
func TestTableIsShown(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		collector{}.Describe(descs)
		close(descs)
	}()
	name := regexp.MustCompile(`fqName: "(\w+)"`)
	named := strings.ReplaceAll(string(page), "{", "`") // labels follow a name
	for d := range descs {
		if found := name.FindStringSubmatch(d.String()); !strings.Contains(named, "\n| `"+found[1]+"`") {
			t.Errorf("%s is not in docs/api.md: run make generate, and set it in full of admin/server/metrics_test.go if it is not there then", found[1])
		}
	}
}
