package access

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// from returns a request of a caller: over the unix socket, or from loopback with
// headers.
func from(method, path, body string, unix bool, header map[string]string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "localhost:9190"
	for name, value := range header {
		r.Header.Set(name, value)
	}
	peer := &Peer{Unix: unix, Who: "127.0.0.1:1234", loopback: !unix, addr: netip.MustParseAddr("127.0.0.1")}
	return r.WithContext(context.WithValue(r.Context(), peerKey{}, peer))
}

const formType = "application/x-www-form-urlencoded"

// pageToken returns the form token that a page of the caller has.
func pageToken(t *testing.T, p *Policy, unix bool, header map[string]string) string {
	t.Helper()
	r := from("GET", "/blocked", "", unix, header)
	c, refusal := p.Check(r, "GET /blocked")
	if refusal != nil {
		t.Fatal(refusal)
	}
	return FormToken(r.WithContext(WithCaller(r.Context(), c)))
}

// A form is accepted with the token of its own caller and of no other.
func TestFormRequiresItsToken(t *testing.T) {
	const operators, readers = "0123456789abcdef", "the-token-of-readers"
	files := Admitted{TokenFile: tokenFile(t, operators), ReaderTokenFile: tokenFile(t, readers)}
	one, err := New(files)
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(files)
	if err != nil {
		t.Fatal(err)
	}
	operator, reader := map[string]string{"Authorization": "Bearer " + operators}, map[string]string{"Authorization": "Bearer " + readers}
	right := pageToken(t, one, false, operator)
	if again := pageToken(t, one, false, operator); right == again || len(right) != 128 {
		t.Fatalf("the tokens of a caller are %q and %q", right, again)
	}
	for _, c := range []struct {
		name, contentType, body string
		want                    string
	}{
		{"its own", formType, "csrf=" + right, ""},
		{"beside other fields", formType + "; charset=utf-8", "prefix=192.0.2.1&csrf=" + right, ""},
		{"none", formType, "prefix=192.0.2.1", "form"},
		{"empty", formType, "csrf=", "form"},
		{"cut", formType, "csrf=" + right[:126], "form"},
		{"no number", formType, "csrf=" + strings.Repeat("z", 128), "form"},
		{"its second half twice", formType, "csrf=" + right[64:] + right[64:], "form"},
		{"two", formType, "csrf=" + right + "&csrf=" + right, "form"},
		{"a reader's", formType, "csrf=" + pageToken(t, one, false, reader), "form"},
		{"that of the socket", formType, "csrf=" + pageToken(t, one, true, nil), "form"},
		{"of another run", formType, "csrf=" + pageToken(t, other, false, operator), "form"},
		{"a page takes no JSON", "application/json", "{}", "content"},
		{"nor what a browser sends without asking", "text/plain", "csrf=" + right, "content"},
		{"nor parts", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n" + right + "\r\n--x--\r\n", "content"},
		{"malformed", formType, "csrf=" + right + "&a=%zz", "content"},
		{"large", formType, "csrf=" + right + "&a=" + strings.Repeat("x", mostForm), "content"},
	} {
		r := from("POST", "/block", c.body, false, operator)
		r.Header.Set("Content-Type", c.contentType)
		reason := ""
		if _, refusal := one.Check(r, "POST /block"); refusal != nil {
			reason = refusal.Reason
		}
		if reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, reason, c.want)
		}
	}
}

// A token in the address of a form is none: addresses are sent to colleagues.
func TestFormTokenIsNotOfTheAddress(t *testing.T) {
	p, err := New(Admitted{})
	if err != nil {
		t.Fatal(err)
	}
	token := pageToken(t, p, true, nil)
	r := from("POST", "/block?csrf="+token, "prefix=192.0.2.1", true, map[string]string{"Content-Type": formType})
	if _, refusal := p.Check(r, "POST /block"); refusal == nil || refusal.Reason != "form" || refusal.Status != http.StatusForbidden {
		t.Errorf("%+v", refusal)
	}
}

// The handler finds the fields that were read for the check.
func TestFormIsReadOnce(t *testing.T) {
	p, err := New(Admitted{})
	if err != nil {
		t.Fatal(err)
	}
	r := from("POST", "/block", url.Values{FormField: {pageToken(t, p, true, nil)}, "prefix": {"192.0.2.1"}}.Encode(), true, map[string]string{"Content-Type": formType})
	if _, refusal := p.Check(r, "POST /block"); refusal != nil || r.PostForm.Get("prefix") != "192.0.2.1" {
		t.Errorf("%+v: %v", refusal, r.PostForm)
	}
}

// The users of one proxy have tokens of their own, and who has no login has one,
// too: for the form that logs in.
func TestFormTokensOfAProxysUsers(t *testing.T) {
	p, err := New(Admitted{ProxyAuth: ProxyAuth{Set: true, User: "X-User", Role: "X-Role"}})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := map[string]string{"X-User": "alice", "X-Role": "operator"}, map[string]string{"X-User": "bob", "X-Role": "operator"}
	open, err := New(Admitted{})
	if err != nil {
		t.Fatal(err)
	}
	a, b, nobody := pageToken(t, p, true, alice), pageToken(t, p, true, bob), pageToken(t, open, false, nil)
	for _, c := range []struct {
		policy *Policy
		token  string
		holds  string
		want   bool
	}{
		{p, a, "the proxy's user alice", true}, {p, b, "the proxy's user bob", true}, {p, a, "the proxy's user bob", false},
		{open, nobody, "nothing", true}, {p, nobody, "nothing", false},
	} {
		if c.policy.isForm(c.token, c.holds) != c.want {
			t.Errorf("%s of %s: not %t", c.token, c.holds, c.want)
		}
	}
}
