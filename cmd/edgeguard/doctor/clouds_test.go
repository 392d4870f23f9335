package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/node/lists"
)

// Doctor says whether the lists behind APIs can be written, and writes nothing.
func TestClouds(t *testing.T) {
	const id = "a1b2c3d4-5678-90ab-cdef-000000000004"
	a := cloudtest.NewAWS(t, cloudtest.Set{Name: "eg4", ID: id, Scope: "REGIONAL", Version: "IPV4", Description: "partners", Addresses: []string{"203.0.113.1/32"}})
	f := cloudtest.NewCloudflare(t)
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(cloudtest.Token)
	c := &config.Config{}
	c.Enforce.AWSWAF = []config.AWSWAF{{Region: cloudtest.Region, Scope: "REGIONAL", V4: config.AWSWAFSet{Name: "eg4", ID: id}, CredentialsFile: file, CloudList: config.CloudList{Most: 1, Mark: "edgeguard", Endpoint: a.URL}}}
	c.Enforce.Cloudflare = []config.Cloudflare{{Account: cloudtest.Account, ID: cloudtest.List, TokenFile: file, CloudList: config.CloudList{Most: 1, Mark: "edgeguard", Endpoint: f.URL}}}
	look := func() (all string) {
		x := &examination{unit: &Unit{}}
		x.clouds(t.Context(), c)
		for _, f := range x.findings {
			all += f.Severity.String() + " " + f.About + ": " + f.Text + "\n"
		}
		return all
	}
	if got := look(); !strings.Contains(got, "ok cloudflare "+cloudtest.List+": the list is empty") || !strings.Contains(got, "wrong awswaf eu-central-1: IP set eg4: "+file+": no profile [default]") {
		t.Error(got)
	}
	write("[default]\naws_access_key_id=" + cloudtest.KeyID + "\naws_secret_access_key=" + cloudtest.Secret + "\n")
	if got := look(); !strings.Contains(got, "somebody else's") || !strings.Contains(got, "is not one secret") || strings.Contains(got, cloudtest.Secret) {
		t.Error(got)
	}
	var left []enforce.Owned
	for _, w := range lists.WantedClouds(c, lists.CloudDeps{}) {
		left = append(left, w.Owned...)
	}
	state := t.TempDir()
	if err := enforce.SaveOwned(filepath.Join(state, enforce.OwnedName), left); err != nil {
		t.Fatal(err)
	}
	c.State = state
	for _, one := range []struct {
		config *config.Config
		found  int
	}{{c, 0}, {&config.Config{State: state}, 2}} {
		x := &examination{}
		x.leftLists(one.config)
		if len(x.findings) != one.found {
			t.Errorf("lists that are left: %+v, want %d", x.findings, one.found)
		}
	}
	for _, call := range append(a.Calls(), f.Calls()...) {
		if call != "GetIPSet" && !strings.HasPrefix(call, "GET ") {
			t.Errorf("doctor called %s", call)
		}
	}
}
