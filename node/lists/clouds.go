package lists

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/cloud"
)

// Lists behind somebody's API: IP sets of AWS WAF and lists of Cloudflare's. Of a fleet, one
// node at a time keeps such a list, by a lease; each has the fleet's blocks.

// cloudResync is how often a list is compared that did not change.
const cloudResync = 10 * time.Minute

// CloudDeps is what lists use of a node.
type CloudDeps struct {
	Node string // its name
	// Lead makes a step of a lease, or reports that the node is alone; Leave gives up a
	// lease.
	Lead    func(ctx context.Context, l *redis.Lease, spare bool) (alone bool, err error)
	Leave   func(ctx context.Context, l *redis.Lease) error
	Monitor func() bool
	Now     func() time.Time
	LeftOut func() // see [names.Config]
	Rank    cloud.Rank
	Log     *slog.Logger
}

// WantedCloud is a list of a config.
type WantedCloud struct {
	Key, Name string
	Make      func() (enforce.Enforcer, error)
	Owned     []enforce.Owned // one for each set
}

// WantedClouds returns the lists of a config.
func WantedClouds(c *config.Config, deps CloudDeps) (all []WantedCloud) {
	deps.Node = c.Node
	for _, a := range c.Enforce.AWSWAF {
		name := "awswaf " + a.Region
		for _, s := range []config.AWSWAFSet{a.V4, a.V6} {
			if s.ID != "" {
				name += " " + s.Name
			}
		}
		w := WantedCloud{Key: fmt.Sprintf("awswaf %+v", a), Name: name}
		w.Make = func() (enforce.Enforcer, error) {
			return newKept(name, leaseOf(a), cloud.NewAWSWAF(ofAWS(a, deps.Rank)), deps), nil
		}
		for _, one := range []config.AWSWAF{only(a, a.V4, config.AWSWAFSet{}), only(a, config.AWSWAFSet{}, a.V6)} {
			if set := one.V4.Name + one.V6.Name; set != "" {
				w.Owned = append(w.Owned, own(formatAWS, "awswaf "+a.Region+" "+set, leaseOf(one), cloudsRecord{AWSWAF: &one, Lease: leaseOf(a), Fleet: c.Fleet != nil}, a.KeepRemoved))
			}
		}
		all = append(all, w)
	}
	for _, f := range c.Enforce.Cloudflare {
		name := "cloudflare " + f.ID
		all = append(all, WantedCloud{
			Key: fmt.Sprintf("cloudflare %+v", f), Name: name,
			Make: func() (enforce.Enforcer, error) {
				return newKept(name, name, cloud.NewCloudflare(ofCloudflare(f, deps.Rank)), deps), nil
			},
			Owned: []enforce.Owned{own(formatCloudflare, name, name, cloudsRecord{Cloudflare: &f, Lease: name, Fleet: c.Fleet != nil}, f.KeepRemoved)},
		})
	}
	return all
}

// only returns the settings with other sets.
func only(a config.AWSWAF, v4, v6 config.AWSWAFSet) config.AWSWAF {
	a.V4, a.V6 = v4, v6
	return a
}

// leaseOf names sets so that all nodes that keep them name them alike.
func leaseOf(a config.AWSWAF) string {
	return strings.Join(strings.Fields("awswaf "+a.Region+" "+a.V4.ID+" "+a.V6.ID), " ")
}

func ofAWS(a config.AWSWAF, rank cloud.Rank) cloud.AWSWAFConfig {
	return cloud.AWSWAFConfig{
		Region: a.Region, Scope: a.Scope, Endpoint: a.Endpoint, V4: cloud.AWSWAFSet(a.V4), V6: cloud.AWSWAFSet(a.V6),
		File: a.CredentialsFile, Profile: a.Profile, Most: a.Most, Every: a.Every, Mark: a.Mark, Rank: rank,
	}
}

func ofCloudflare(c config.Cloudflare, rank cloud.Rank) cloud.CloudflareConfig {
	return cloud.CloudflareConfig{Account: c.Account, ID: c.ID, TokenFile: c.TokenFile, Endpoint: c.Endpoint, Most: c.Most, Every: c.Every, Mark: c.Mark, Rank: rank}
}

// The formats of these lists in the record of a node's lists.
const formatAWS, formatCloudflare = "awswaf", "cloudflare"

// cloudsRecord is what must be known of a list to empty it. It has no secret.
type cloudsRecord struct {
	AWSWAF     *config.AWSWAF     `json:"awswaf,omitempty"`
	Cloudflare *config.Cloudflare `json:"cloudflare,omitempty"`
	Lease      string             `json:"lease"` // what the nodes that keep it call it
	Fleet      bool               `json:"fleet,omitempty"`
}

func own(format, name, id string, r cloudsRecord, keep bool) enforce.Owned {
	text, _ := json.Marshal(r) // of texts and numbers
	return enforce.Owned{Path: name, File: id, Format: format, Settings: string(text), Keep: keep}
}

// IsCloud reports whether a recorded list is behind somebody's API.
func IsCloud(o *enforce.Owned) bool { return o.Format == formatAWS || o.Format == formatCloudflare }

// IsShared reports whether other nodes of a fleet may keep a recorded list, too.
func IsShared(o *enforce.Owned) bool {
	r, err := parse(o)
	return err == nil && r.Fleet
}

func parse(o *enforce.Owned) (r cloudsRecord, err error) {
	if err := json.Unmarshal([]byte(o.Settings), &r); err != nil || (r.AWSWAF == nil) == (r.Cloudflare == nil) {
		return r, fmt.Errorf("%s: the record of it cannot be used", o.Path)
	}
	return r, nil
}

// opened returns a recorded list, which is only to be emptied, and what its lease is.
func opened(o *enforce.Owned) (list keeper, leased string, err error) {
	r, err := parse(o)
	switch {
	case err != nil:
		return nil, "", err
	case r.AWSWAF != nil:
		return cloud.NewAWSWAF(ofAWS(*r.AWSWAF, nil)), r.Lease, nil
	}
	return cloud.NewCloudflare(ofCloudflare(*r.Cloudflare, nil)), r.Lease, nil
}

// emptyCloud takes all that is ours out of a recorded list, whoever keeps it. A list that is
// not there any more needs nothing.
func emptyCloud(ctx context.Context, o *enforce.Owned) error {
	list, _, err := opened(o)
	if err != nil {
		return err
	}
	return emptied(ctx, list)
}

func emptied(ctx context.Context, list keeper) error {
	defer func() { _ = list.Close() }()
	err := list.Replace(ctx, time.Time{}, nil)
	if cloud.IsGone(err) {
		return nil
	}
	return err
}

// LookAtClouds returns what can be said of each list of a config without changing it.
func LookAtClouds(ctx context.Context, c *config.Config) (all []CloudSeen) {
	none := func(netip.Prefix) (uint32, time.Time) { return 0, time.Time{} }
	see := func(name string, list keeper) {
		defer func() { _ = list.Close() }()
		lines, err := list.Look(ctx)
		all = append(all, CloudSeen{Name: name, Lines: lines, Err: err})
	}
	for _, a := range c.Enforce.AWSWAF {
		see("awswaf "+a.Region, cloud.NewAWSWAF(ofAWS(a, none)))
	}
	for _, f := range c.Enforce.Cloudflare {
		see("cloudflare "+f.ID, cloud.NewCloudflare(ofCloudflare(f, none)))
	}
	return all
}

// CloudSeen is what was seen of a list.
type CloudSeen struct {
	Name  string
	Lines []string
	Err   error
}
