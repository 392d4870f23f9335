package crowdsec

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/crowdsec/lapitest"
	"edgeguard/internal/words"
)

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// Debian's CrowdSec: what is banned there is read, what is reported there is banned with the
// origin and the end that were reported.
func TestCrowdSec(t *testing.T) {
	s := lapitest.Start(t)
	c := to(t, s.URL, "")
	pull := func(whole bool) (added, deleted []Decision) {
		t.Helper()
		if err := c.PullDecisions(t.Context(), lapitest.Key, whole, func(d *Decision) { added = append(added, *d) }, func(d *Decision) { deleted = append(deleted, *d) }); err != nil {
			t.Fatal(err)
		}
		return added, deleted
	}
	if added, deleted := pull(true); len(added)+len(deleted) > 0 {
		t.Errorf("%v %v", added, deleted)
	}
	s.Cscli("decisions", "add", "-i", "192.0.2.77", "-d", "1h")
	s.Cscli("decisions", "add", "-r", "198.51.100.0/24", "-t", "captcha")
	added, _ := pull(false)
	if len(added) != 2 || added[0].Value != "192.0.2.77" || added[0].Origin != "cscli" || added[0].Type != "ban" || added[1].Scope != "Range" || added[1].Type != "captcha" {
		t.Errorf("%+v", added)
	}
	now := time.Now()
	m := &Machine{ID: lapitest.Machine, Password: lapitest.Password, Scenarios: []string{Scenario("site")}}
	own := edgeguard.Block{Rule: "site", Count: 61, Limit: 60, Since: now.Add(-time.Second), Until: now.Add(10 * time.Minute)}
	var blocks []edgeguard.Block
	for _, prefix := range []string{"203.0.113.9/32", "2001:db8:1::/64"} {
		own.Prefix = netip.MustParsePrefix(prefix)
		blocks = append(blocks, own)
	}
	body, err := AlertsJSON(blocks, now, func(rule, origin string) words.Measure { return words.Measure{} })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Report(t.Context(), m, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Heartbeat(t.Context(), m); err != nil {
		t.Error(err)
	}
	added, _ = pull(false)
	var values []string
	for _, d := range added {
		values = append(values, d.Value)
		left, err := time.ParseDuration(d.Duration)
		if d.Origin != "edgeguard" || d.Scenario != "edgeguard/site" || err != nil || left > 10*time.Minute || left < 8*time.Minute {
			t.Errorf("%+v", d)
		}
	}
	slices.Sort(values)
	if values = slices.Compact(values); !slices.Equal(values, []string{"2001:db8:1::/64", "203.0.113.9"}) {
		t.Errorf("%q", values)
	}
	s.Cscli("decisions", "delete", "-i", "192.0.2.77")
	if err := c.Check(t.Context(), lapitest.Key); err != nil {
		t.Error(err)
	}
	if err := c.Check(t.Context(), "wrong"); err == nil || !strings.HasPrefix(err.Error(), "it answers 403 Forbidden") {
		t.Error(err)
	}
	if _, deleted := pull(false); len(deleted) != 1 || deleted[0].Value != "192.0.2.77" {
		t.Errorf("%+v", deleted)
	}
	if err := c.PullDecisions(t.Context(), "wrong", true, nil, nil); err == nil || err.Error() != "it answers 403 Forbidden: access forbidden" {
		t.Error(err)
	}
	m.Password, c.ends = "wrong", time.Time{}
	if err := c.Heartbeat(t.Context(), m); err == nil || !strings.HasPrefix(err.Error(), "it answers 401 Unauthorized: incorrect Username or Password") {
		t.Error(err)
	}
	if list := s.Cscli("bouncers", "list"); !strings.Contains(list, `"edgeguard"`) {
		t.Error(list)
	}
	if list := s.Cscli("machines", "list"); !strings.Contains(list, "edgeguard/site") {
		t.Error(list)
	}
}
