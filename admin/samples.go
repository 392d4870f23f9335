package admin

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// What a key asked for, in the API's form, and who may see it.

// KeptSamples is what a node keeps of a key's requests.
type KeptSamples struct {
	// Each is how many are kept of a key: 0 where the config switches samples off.
	Each       int
	ForReaders bool // else for operators alone
	Samples    []Sample
}

// Sample is one request of a key that is blocked or near a limit. A client wrote its
// texts: they are cut, and characters on which a terminal acts are replaced.
type Sample struct {
	Time    time.Time  `json:"time"`
	Address netip.Addr `json:"address"`
	Method  string     `json:"method"`
	Path    string     `json:"path"`             // without its query
	Status  uint16     `json:"status,omitempty"` // where the source has it
	Agent   string     `json:"agent"`
	Refused bool       `json:"refused"` // by the block
}

// SampleList is some of the requests of a key.
type SampleList struct {
	Prefix  netip.Prefix `json:"prefix"`
	Samples []Sample     `json:"samples"` // the newest first
}

// For returns the requests of a prefix for somebody with a role, the newest first. The
// problem says why there are none, or none for this role.
func (k *KeptSamples) For(role access.Role, prefix netip.Prefix) (SampleList, *call.Problem) {
	problem := func(status int, detail, fix string) (SampleList, *call.Problem) {
		return SampleList{}, call.NewProblem(status, "prefix", detail, fix)
	}
	switch {
	case role < access.Reader:
		return problem(http.StatusForbidden, "samples of requests require a login", "use the unix socket or a token")
	case !k.ForReaders && role < access.Operator:
		return problem(http.StatusForbidden, "samples of requests are for operators: paths can hold personal data", "set samples_for: reader in the config")
	case k.Each == 0:
		return problem(http.StatusNotFound, "this node keeps no samples", "set samples in the config")
	case len(k.Samples) == 0:
		return problem(http.StatusNotFound,
			"no request of exactly "+prefix.String()+" is kept: samples are taken near a limit and while it is blocked, and are gone a day after the block or at a restart", "")
	}
	slices.SortStableFunc(k.Samples, func(a, b Sample) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return SampleList{Prefix: prefix, Samples: k.Samples}, nil
}

// Samples returns some of the requests of the key or block of exactly this prefix to
// somebody with a role. The reader has none for guests.
func (v *View) Samples(role access.Role, prefix netip.Prefix) (SampleList, *call.Problem) {
	kept := v.reader.Samples(prefix)
	return kept.For(role, prefix)
}
