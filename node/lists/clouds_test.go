package lists

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/internal/program"
)

// A node keeps an IP set: a block and its lift arrive, one that was learned behind a
// proxy too, and other people's lists do not. Mode monitor empties the set, and so does a config without it, also after
// a restart.
func TestCloud(t *testing.T) {
	const id = "a1b2c3d4-5678-90ab-cdef-000000000004"
	a := cloudtest.NewAWS(t, cloudtest.Set{Name: "eg4", ID: id, Scope: "REGIONAL", Version: "IPV4"})
	file := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(file, []byte("[edge]\naws_access_key_id="+cloudtest.KeyID+"\naws_secret_access_key="+cloudtest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := &config.Config{}
	with.Enforce.AWSWAF = []config.AWSWAF{{
		Region: cloudtest.Region, Scope: "REGIONAL", V4: config.AWSWAFSet{Name: "eg4", ID: id}, CredentialsFile: file, Profile: "edge",
		CloudList: config.CloudList{Most: 2, Every: time.Millisecond, Mark: "edgeguard", Endpoint: a.URL},
	}}
	c := testConfig(t)
	add := func(prefix string, proxied bool) {
		t.Helper()
		if _, _, err := c.List.Add(edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Since: begin, Until: begin.Add(time.Hour), Proxied: proxied}, false, begin); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(prefixes ...string) func() bool {
		return func() bool {
			got := a.Set(id).Addresses
			slices.Sort(got)
			return slices.Equal(got, prefixes)
		}
	}
	add("192.0.2.1/32", true)
	c.Imported.Replace("list", []imported.Entry{{Prefix: netip.MustParsePrefix("203.0.113.1/32"), Until: begin.Add(time.Hour)}}, begin)
	first := New(c)
	c.List.OnChange(first.Changed)
	first.Load()
	first.Settle(t.Context(), with)
	program.Eventually(t, "the block is in the set", holds("192.0.2.1/32"))
	add("192.0.2.2/32", false)
	program.Eventually(t, "the next is", holds("192.0.2.1/32", "192.0.2.2/32"))
	c.List.Lift(netip.MustParsePrefix("192.0.2.2/32"), begin, "", "")
	program.Eventually(t, "a lifted one is not", holds("192.0.2.1/32"))
	_, hit := c.List.FindHit(begin, netip.MustParseAddr("192.0.2.1"))
	hit.Refused(begin, 3)
	add("192.0.2.3/32", false)
	add("192.0.2.4/32", false)
	add("2001:db8::/64", false)
	var figures admin.Stats
	program.Eventually(t, "what has no place is left out", func() bool {
		figures = admin.Stats{}
		first.Report(&figures)
		e := figures.Enforcers[0]
		return e.Withheld == 2 && e.Intended == 2 && e.Installed == 2 && e.KeptBy == ""
	})
	if !slices.Contains(a.Set(id).Addresses, "192.0.2.1/32") {
		t.Errorf("the hottest is left out of %v", a.Set(id).Addresses)
	}
	c.Current().Monitor = true
	first.Refresh()
	program.Eventually(t, "mode monitor empties it", holds())
	c.Current().Monitor = false
	first.Refresh()
	program.Eventually(t, "and it is filled again", func() bool { return len(a.Set(id).Addresses) == 2 })
	first.Stop()
	record, err := os.ReadFile(filepath.Join(c.State, enforce.OwnedName))
	if err != nil || !strings.Contains(string(record), id) || strings.Contains(string(record), cloudtest.Secret) || strings.Contains(string(record), cloudtest.KeyID) {
		t.Errorf("the record: %s, %v", record, err)
	}
	second := New(c)
	second.Load()
	second.Settle(t.Context(), &config.Config{})
	program.Eventually(t, "it is emptied", holds())
	program.Eventually(t, "it is off the record", func() bool {
		owned, err := enforce.LoadOwned(filepath.Join(c.State, enforce.OwnedName))
		return err == nil && len(owned) == 0
	})
	second.Stop()
}
