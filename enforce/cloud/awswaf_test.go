package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard/enforce"
	"edgeguard/enforce/cloud/cloudtest"
	"edgeguard/enforce/enforcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id4, id6 = "a1b2c3d4-5678-90ab-cdef-EXAMPLE11111", "a1b2c3d4-5678-90ab-cdef-EXAMPLE22222"

// pair returns an empty set for each family.
func pair() []cloudtest.Set {
	return []cloudtest.Set{
		{Name: "eg4", ID: id4, Scope: "REGIONAL", Version: "IPV4"},
		{Name: "eg6", ID: id6, Scope: "REGIONAL", Version: "IPV6", Description: "edgeguard"},
	}
}

// credentials writes a credentials file.
func credentials(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const known = "[default]\naws_access_key_id = " + cloudtest.KeyID + "\naws_secret_access_key=" + cloudtest.Secret + "\n"

func newAWSWAFSet(t testing.TB, a *cloudtest.AWS, change ...func(*AWSWAFConfig)) *AWSWAF {
	t.Helper()
	c := AWSWAFConfig{
		Region: cloudtest.Region, Scope: "REGIONAL", Endpoint: a.URL, V4: AWSWAFSet{"eg4", id4}, V6: AWSWAFSet{"eg6", id6},
		File: credentials(t, known), Most: 10_000, Every: time.Minute, Mark: "edgeguard",
	}
	for _, f := range change {
		f(&c)
	}
	l := NewAWSWAF(c)
	l.step, l.between = time.Millisecond, 0
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func entries(prefixes ...string) (all []enforce.Entry) {
	for _, p := range prefixes {
		all = append(all, enforce.Entry{Prefix: netip.MustParsePrefix(p), Until: time.Now().Add(time.Hour)})
	}
	return all
}

func TestConforms(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	enforcetest.Run(t, enforcetest.Bench{
		New:    func(t *testing.T) enforce.Enforcer { return newAWSWAFSet(t, a) },
		Denied: func(t *testing.T, addr netip.Addr) bool { return a.Denied(t, addr) },
	})
}

// A set that is in force already is read and not written; an empty one gets the mark
// with its first address, and keeps a description that begins with it.
func TestWrites(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	l := newAWSWAFSet(t, a)
	replace := func(want string, prefixes ...string) {
		t.Helper()
		if err := l.Replace(t.Context(), time.Now(), entries(prefixes...)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.Calls(), " "); got != want {
			t.Errorf("calls: %s, want %s", got, want)
		}
	}
	replace("GetIPSet GetIPSet")
	if got := a.Set(id4); got.Description != "" {
		t.Errorf("an empty list was written: %+v", got)
	}
	replace("GetIPSet UpdateIPSet GetIPSet UpdateIPSet", "192.0.2.0/24", "192.0.2.1/32", "198.51.100.7/32", "2001:db8::/64")
	got4, got6 := a.Set(id4), a.Set(id6)
	if got4.Description != "edgeguard keeps this list" || got6.Description != "edgeguard" || len(got4.Addresses) != 2 || got6.Addresses[0] != "2001:0db8:0000:0000:0000:0000:0000:0000/64" {
		t.Errorf("%+v, %+v", got4, got6)
	}
	replace("GetIPSet GetIPSet", "192.0.2.0/24", "192.0.2.1/32", "198.51.100.7/32", "2001:db8::/64")
	for p, want := range map[string]bool{"192.0.2.1/32": true, "2001:db8::/64": true, "2001:db8::/60": false, "198.51.100.8/32": false} {
		if got := l.Refuses()(netip.MustParsePrefix(p)); got != want {
			t.Errorf("%s is refused: %t", p, got)
		}
	}
	replace("GetIPSet UpdateIPSet GetIPSet UpdateIPSet")
	if got := a.Set(id4); len(got.Addresses) != 0 || got.Description != "edgeguard keeps this list" {
		t.Errorf("%+v", got)
	}
}

// The hottest come first, and how many are left out is said.
func TestMost(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	l := newAWSWAFSet(t, a, func(c *AWSWAFConfig) {
		c.V6, c.Most = AWSWAFSet{}, 2
		c.Rank = func(p netip.Prefix) (uint32, time.Time) { return uint32(p.Addr().As4()[3]), time.Time{} }
	})
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.9/32", "192.0.2.10/32", "192.0.2.200/32", "2001:db8::/64")); err != nil {
		t.Fatal(err)
	}
	got := a.Set(id4).Addresses
	slices.Sort(got)
	if want := []string{"192.0.2.10/32", "192.0.2.200/32"}; !slices.Equal(got, want) || l.Left() != 2 {
		t.Errorf("%v, %d left out", got, l.Left())
	}
}

// A set with addresses and without the mark is never written.
func TestForeign(t *testing.T) {
	for _, description := range []string{"", "partners", "edgeguard-staging", "our edgeguard"} {
		sets := pair()
		sets[0].Description, sets[0].Addresses = description, []string{"203.0.113.0/24"}
		a := cloudtest.NewAWS(t, sets...)
		l := newAWSWAFSet(t, a)
		err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32", "2001:db8::/64"))
		if err == nil || !strings.Contains(err.Error(), "somebody else's") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", description, err)
		}
		if got := a.Set(id4); !slices.Equal(got.Addresses, []string{"203.0.113.0/24"}) || got.Description != description {
			t.Errorf("%q: %+v", description, got)
		}
		if len(a.Set(id6).Addresses) != 1 {
			t.Errorf("%q: the other set was not written", description)
		}
		if _, err := l.Look(t.Context()); err == nil {
			t.Errorf("%q: looks like ours", description)
		}
	}
}

// What another program puts into an empty set while it is read is not overwritten: the
// lock is lost, and the set is read again.
func TestLockLost(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	l := newAWSWAFSet(t, a)
	a.Between(func(s *cloudtest.Set) { s.Addresses = []string{"203.0.113.0/24"} })
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err == nil || !strings.Contains(err.Error(), "somebody else's") {
		t.Error(err)
	}
	if got := a.Set(id4); len(got.Addresses) != 1 || got.Addresses[0] != "203.0.113.0/24" {
		t.Errorf("%+v", got)
	}
	a.Change(id4, func(s *cloudtest.Set) { s.Description = "edgeguard" })
	a.Between(func(s *cloudtest.Set) { s.Addresses = append(s.Addresses, "203.0.114.0/24") })
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err != nil {
		t.Error(err)
	}
	if got := a.Set(id4); len(got.Addresses) != 1 || got.Addresses[0] != "192.0.2.1/32" {
		t.Errorf("%+v", got)
	}
}

// Each fault is one clear line, and what was installed stays; a fault that passes does
// not need a second Replace.
func TestFaults(t *testing.T) {
	body := func(kind, text string) string {
		out, _ := json.Marshal(map[string]string{"__type": kind, "message": text}) // a map of texts
		return string(out)
	}
	for _, one := range []struct {
		name, operation, want string
		faults                []cloudtest.Fault
	}{
		{"throttled once", "UpdateIPSet", "", []cloudtest.Fault{{Status: 400, Body: body("ThrottlingException", "Rate exceeded")}}},
		{"unavailable twice", "UpdateIPSet", "", []cloudtest.Fault{{Status: 400, Body: body("WAFUnavailableEntityException", "retry")}, {Status: 500, Body: body("WAFInternalErrorException", "")}}},
		{"a gateway's page", "GetIPSet", "", []cloudtest.Fault{{Status: 502, Body: "<html>Bad Gateway</html>"}}},
		{"an update that took effect, and said it did not", "UpdateIPSet", "", []cloudtest.Fault{{Status: 503, Body: "", Done: true}}},
		{"throttled for good", "UpdateIPSet", "Rate exceeded", slices.Repeat([]cloudtest.Fault{{Status: 400, Body: body("ThrottlingException", "Rate exceeded")}}, 4)},
		{"a login page", "GetIPSet", "not JSON: <html>Welcome: look for a proxy", []cloudtest.Fault{{Status: 200, Body: "<html>Welcome"}}},
		{"another service's JSON", "GetIPSet", "it is not AWS WAF's", []cloudtest.Fault{{Status: 200, Body: "{}"}}},
		{"no list of addresses, which would be taken for an empty one", "GetIPSet", "no list of addresses", []cloudtest.Fault{{Status: 200, Body: `{"IPSet":{"IPAddressVersion":"IPV4","Addresses":null},"LockToken":"x"}`}}},
		{"half an answer", "GetIPSet", "half an answer", []cloudtest.Fault{{Status: 200, Body: `{"IPSet":`, Half: true}}},
		{"a redirect", "GetIPSet", "status 302", []cloudtest.Fault{{Status: 302, Header: http.Header{"Location": {"https://elsewhere.example/"}}}}},
		{"too many", "UpdateIPSet", "set most lower", []cloudtest.Fault{{Status: 400, Body: body("WAFLimitsExceededException", "limit")}}},
		{"expired", "GetIPSet", "renew it", []cloudtest.Fault{{Status: 403, Body: body("ExpiredTokenException", "expired")}}},
		{"not allowed", "UpdateIPSet", "allow wafv2:GetIPSet", []cloudtest.Fault{{Status: 400, Body: body("com.amazon.coral.service#AccessDeniedException", "not authorized")}}},
		{"in a header", "GetIPSet", "AWS does not know the access key", []cloudtest.Fault{{Status: 403, Header: http.Header{"X-Amzn-Errortype": {"InvalidClientTokenId:http://x/"}}, Body: "<x/>"}}},
		{"text that acts on a terminal", "GetIPSet", "says A?[31m?B", []cloudtest.Fault{{Status: 400, Body: body("A\x1b[31m\u202eB", "C")}}},
	} {
		t.Run(one.name, func(t *testing.T) {
			sets := pair()
			sets[0].Description, sets[0].Addresses = "edgeguard", []string{"192.0.2.9/32"}
			a := cloudtest.NewAWS(t, sets...)
			l := newAWSWAFSet(t, a, func(c *AWSWAFConfig) { c.V6 = AWSWAFSet{} })
			a.Fail(one.operation, one.faults...)
			err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32"))
			want := "192.0.2.1/32"
			if one.want != "" {
				want = "192.0.2.9/32"
			}
			if (err == nil) != (one.want == "") || err != nil && (!strings.Contains(err.Error(), one.want) || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), cloudtest.Secret)) {
				t.Errorf("%v", err)
			}
			if got := a.Set(id4).Addresses; len(got) != 1 || got[0] != want {
				t.Errorf("installed: %v, want %s", got, want)
			}
			if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err != nil {
				t.Errorf("the next time: %v", err)
			}
		})
	}
}

// A server that does not answer holds up nobody who gives up.
func TestHangs(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	l := newAWSWAFSet(t, a)
	a.Fail("GetIPSet", cloudtest.Fault{Hang: true}, cloudtest.Fault{Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Replace(ctx, time.Now(), entries("192.0.2.1/32")); err == nil {
		t.Error("no error")
	}
}

// The deleted set, the wrong family, the wrong clock, and credentials that were renewed.
func TestRefused(t *testing.T) {
	a := cloudtest.NewAWS(t, pair()...)
	file := credentials(t, known)
	l := newAWSWAFSet(t, a, func(c *AWSWAFConfig) { c.File = file; c.V6 = AWSWAFSet{} })
	try := func(l *AWSWAF, want string) {
		t.Helper()
		if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32", "2001:db8::/64")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), cloudtest.Secret) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	try(newAWSWAFSet(t, a, func(c *AWSWAFConfig) { c.V4 = c.V6; c.V6 = AWSWAFSet{} }), "it holds IPV6: name it by the other")
	a.Session("", -time.Hour)
	try(l, "this host's clock is off by 1h0m0s against AWS's: set it right")
	a.Session("a-session", 0)
	try(l, "renew it")
	if err := os.WriteFile(file, []byte(known+"aws_session_token = a-session\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Replace(t.Context(), time.Now(), entries("192.0.2.1/32")); err != nil {
		t.Errorf("renewed: %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(known, "wJalr", "other", 1)+"aws_session_token = a-session\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	try(l, "the secret access key in "+file+" is not that of its key ID")
	a.Delete(id4)
	if err := os.WriteFile(file, []byte(known+"aws_session_token = a-session\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	try(l, "compare name, id, scope and region")
}

func TestCredentials(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, one := range []struct{ text, profile, want, wrong string }{
		{known, "default", cloudtest.KeyID, ""},
		{"# the edge\r\n[default]\r\naws_access_key_id=A\r\n[edge]\r\naws_access_key_id = B\r\naws_secret_access_key = =x=\r\n", "edge", "B", ""},
		{"aws_access_key_id = A\naws_secret_access_key = B", "default", "A", ""},
		{known, "edge", "", "no profile [edge]"},
		{`{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "B", "SessionToken": "C", "Expiration": "2026-01-02T03:04:06Z"}`, "default", "A", ""},
		{`{"AccessKeyId": "A", "SecretAccessKey": "B", "Expiration": "2026-01-02T03:04:05Z"}`, "default", "", "ended at 2026-01-02T03:04:05Z"},
		{`{"AccessKeyId`, "default", "", "begins as JSON"},
	} {
		c, err := parseCredentials(one.text, one.profile, now)
		if c.KeyID != one.want && err == nil || (err == nil) != (one.wrong == "") || err != nil && !strings.Contains(err.Error(), one.wrong) {
			t.Errorf("%.40q: %+v, %v", one.text, c, err)
		}
	}
	for _, text := range []string{"", "[default]\naws_access_key_id = A", "[default]\naws_access_key_id = A\naws_secret_access_key = a b"} {
		if _, err := readCredentials(credentials(t, text), ""); err == nil || strings.Contains(err.Error(), "a b") {
			t.Errorf("%q: %v", text, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "A")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "B")
	if c, err := readCredentials("", ""); err != nil || c.Secret != "B" {
		t.Errorf("the environment: %v", err)
	}
}

func FuzzCredentials(f *testing.F) {
	f.Add(known, "default")
	f.Add(`{"AccessKeyId": "A"}`, "")
	f.Fuzz(func(t *testing.T, text, profile string) {
		c, err := parseCredentials(text, profile, time.Unix(1, 0))
		if err == nil {
			err = check(c, "x")
		}
		if err != nil && c.Secret != "" && len(c.Secret) > 20 && strings.Contains(err.Error(), c.Secret) {
			t.Errorf("an error has the secret: %v", err)
		}
	})
}

// BenchmarkPush is a push of 10,000 new prefixes, with the reading before.
func BenchmarkPush(b *testing.B) {
	a := cloudtest.NewAWS(b, pair()...)
	l := newAWSWAFSet(b, a, func(c *AWSWAFConfig) { c.V6 = AWSWAFSet{} })
	all := make([][]enforce.Entry, 2)
	for i := range 20_000 {
		all[i%2] = append(all[i%2], enforce.Entry{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)})
	}
	a.Calls()
	pushes, calls := 0, 0
	for b.Loop() {
		if err := l.Replace(b.Context(), time.Now(), all[pushes%2]); err != nil {
			b.Fatal(err)
		}
		pushes++
		calls += len(a.Calls())
	}
	b.ReportMetric(float64(calls)/float64(pushes), "requests/op")
}

// FuzzAnswers has an API answer anything: what it says is bounded and harmless.
func FuzzAnswers(f *testing.F) {
	f.Add(`{"__type":"x#WAFNonexistentItemException","message":"\u001b[31m"}`, "", "", 400)
	f.Add(`{"__type":"InvalidSignatureException"}`, "", "Mon, 02 Jan 2006 15:04:05 GMT", 403)
	f.Add(`<html>`, "A:B#C", "x", 500)
	f.Fuzz(func(t *testing.T, text, kind, date string, status int) {
		a := &Answer{Status: status, Header: http.Header{"Date": {date}}, Body: []byte(text)}
		if kind != "" {
			a.Header.Set("X-Amzn-Errortype", kind)
		}
		if err := failure(a, "/f"); len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q", err)
		}
		var said ipSet
		if json.Unmarshal([]byte(text), &said) == nil {
			same(said.Addresses, []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")})
		}
	})
}
