package node

import (
	"os"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/internal/redistest"
)

// One node of a fleet keeps a list in the cloud, and the other says which. What the list
// had before is compared with the node's, and a node whose lease is another's calls
// nobody.
func TestCloudOfAFleet(t *testing.T) {
	t.Parallel()
	const id = "a1b2c3d4-5678-90ab-cdef-000000000004"
	cloud := cloudtest.NewAWS(t, cloudtest.Set{Name: "eg4", ID: id, Scope: "REGIONAL", Version: "IPV4", Description: "edgeguard of before", Addresses: []string{"203.0.113.9/32"}})
	folder := shortDir(t)
	if err := os.WriteFile(folder+"/aws", []byte("[default]\naws_access_key_id="+cloudtest.KeyID+"\naws_secret_access_key="+cloudtest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	yaml := fleetOfTwo + strings.NewReplacer("$URL", cloud.URL, "$FILE", folder+"/aws").Replace(`
enforce: {awswaf: {region: eu-central-1, ipv4: {name: eg4, id: `+id+`}, credentials_file: $FILE, endpoint: $URL}}
`)
	a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), yaml, yaml)
	list := func(u *underTest) admin.Enforcer { return u.view().Stats().Enforcers[0] }
	a.eventually("the list is compared", func() bool { return len(cloud.Set(id).Addresses) == 0 })
	a.eventually("one keeps it, and the other knows", func() bool {
		first, second := list(a), list(b)
		if first.KeptBy != "" {
			first, second = second, first
		}
		return first.Updates > 0 && first.KeptBy == "" && strings.HasPrefix(second.KeptBy, "edge-")
	})
	if got := cloud.Set(id); got.Description != "edgeguard of before" {
		t.Errorf("%+v", got)
	}
	writes := 0
	for _, call := range cloud.Calls() {
		if call == "UpdateIPSet" {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("it was written %d times", writes)
	}
}
