package cloudtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// The credentials that AWS knows.
const (
	KeyID  = "AKIDEXAMPLE"
	Secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	Region = "eu-central-1"
)

// Set is an IP set, as the service's model has it (botocore, wafv2/2019-07-29).
type Set struct {
	Name, ID, Scope, Version, Description string
	Addresses                             []string
	lock                                  int
}

// AWS answers as AWS WAF does. The set of each ID is changed under the lock alone.
type AWS struct {
	URL string
	faults
	t testing.TB

	state  sync.Mutex // guards all below
	sets   map[string]*Set
	token  string        // of the session that the credentials require
	ahead  time.Duration // how far AWS' clock is ahead of this host's
	change func(*Set)    // is called before each update
}

// NewAWS starts a server with these sets.
func NewAWS(t testing.TB, sets ...Set) *AWS {
	a := &AWS{t: t, sets: make(map[string]*Set), faults: faults{next: make(map[string][]Fault)}}
	for _, s := range sets {
		a.sets[s.ID] = &s
	}
	server := httptest.NewServer(a)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	a.URL = server.URL
	return a
}

// Set returns a set as it is now.
func (a *AWS) Set(id string) Set {
	a.state.Lock()
	defer a.state.Unlock()
	if a.sets[id] == nil {
		return Set{}
	}
	s := *a.sets[id]
	s.Addresses = slices.Clone(s.Addresses)
	return s
}

// Change changes a set as another program does.
func (a *AWS) Change(id string, change func(*Set)) {
	a.state.Lock()
	defer a.state.Unlock()
	change(a.sets[id])
	a.sets[id].lock++
}

// Delete deletes a set.
func (a *AWS) Delete(id string) {
	a.state.Lock()
	defer a.state.Unlock()
	delete(a.sets, id)
}

// Between has another program change the set between the next readings and updates.
func (a *AWS) Between(change func(*Set)) {
	a.state.Lock()
	defer a.state.Unlock()
	a.change = change
}

// Session sets the token that the credentials require, and how far AWS' clock is ahead.
func (a *AWS) Session(token string, ahead time.Duration) {
	a.state.Lock()
	defer a.state.Unlock()
	a.token, a.ahead = token, ahead
}

// Denied reports whether a set has an address.
func (a *AWS) Denied(t testing.TB, addr netip.Addr) bool {
	a.state.Lock()
	defer a.state.Unlock()
	var all []string
	for _, s := range a.sets {
		all = append(all, s.Addresses...)
	}
	return holds(t, all, addr)
}

// refusal is an error of the service.
type refusal struct{ kind, text string }

func (a *AWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSWAF_20190729.")
	a.state.Lock()
	w.Header().Set("Date", time.Now().Add(a.ahead).UTC().Format(http.TimeFormat))
	a.state.Unlock()
	if a.fails(w, r, operation, func() { _, _ = a.do(operation, body) }) {
		return
	}
	refused := a.signed(r, body)
	var out any
	if refused == nil {
		out, refused = a.do(operation, body)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if refused != nil {
		w.WriteHeader(http.StatusBadRequest)
		out = map[string]string{"__type": "com.amazonaws.wafv2.v20190729#" + refused.kind, "Message": refused.text}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// signed checks a request's signature on its own, from the request as it arrived.
func (a *AWS) signed(r *http.Request, body []byte) *refusal {
	a.state.Lock()
	defer a.state.Unlock()
	parts := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/([\w-]+)/wafv2/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$`).FindStringSubmatch(r.Header.Get("Authorization"))
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case parts == nil || err != nil || r.Method != http.MethodPost || r.URL.Path != "/" || r.URL.RawQuery != "" || r.Header.Get("Content-Type") != "application/x-amz-json-1.1":
		return &refusal{"IncompleteSignatureException", "Authorization header requires 'Credential' parameter."}
	case parts[1] != KeyID:
		return &refusal{"UnrecognizedClientException", "The security token included in the request is invalid."}
	case r.Header.Get("X-Amz-Security-Token") != a.token:
		return &refusal{"ExpiredTokenException", "The security token included in the request is expired"}
	}
	if off := time.Now().Add(a.ahead).Sub(at); off.Abs() > 5*time.Minute {
		return &refusal{"InvalidSignatureException", "Signature expired: " + r.Header.Get("X-Amz-Date") + " is now earlier than " + time.Now().Add(a.ahead-5*time.Minute).UTC().Format("20060102T150405Z")}
	}
	names := strings.Split(parts[4], ";")
	if !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") || !slices.Contains(names, "x-amz-target") || !sort.StringsAreSorted(names) {
		return &refusal{"InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization."}
	}
	canonical := "POST\n/\n\n"
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += fmt.Sprintf("\n%s\n%x", parts[4], sha256.Sum256(body))
	scope := parts[2] + "/" + parts[3] + "/wafv2/aws4_request"
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), scope, sha256.Sum256([]byte(canonical)))
	key := "AWS4" + Secret
	for _, part := range []string{at.Format("20060102"), Region, "wafv2", "aws4_request", text} {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(part))
		key = string(mac.Sum(nil))
	}
	if fmt.Sprintf("%x", key) != parts[5] {
		return &refusal{"InvalidSignatureException", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."}
	}
	return nil
}

// do answers an operation.
func (a *AWS) do(operation string, body []byte) (any, *refusal) {
	var in struct {
		Name, ID, Scope, Description, LockToken string
		Addresses                               *[]string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, &refusal{"SerializationException", "Start of structure or map found where not expected."}
	}
	a.state.Lock()
	defer a.state.Unlock()
	s := a.sets[in.ID]
	if s == nil || s.Name != in.Name || s.Scope != in.Scope {
		return nil, &refusal{"WAFNonexistentItemException", "AWS WAF couldn’t perform the operation because your resource doesn’t exist."}
	}
	switch operation {
	case "GetIPSet":
		return map[string]any{"LockToken": s.token(), "IPSet": map[string]any{
			"Name": s.Name, "Id": s.ID, "ARN": "arn:aws:wafv2:" + Region + ":123456789012:regional/ipset/" + s.Name + "/" + s.ID,
			"Description": s.Description, "IPAddressVersion": s.Version, "Addresses": append([]string{}, s.Addresses...),
		}}, nil
	case "UpdateIPSet":
		if a.change != nil {
			a.change(s)
			a.change = nil
			s.lock++
		}
		if in.Addresses == nil {
			return nil, &refusal{"WAFInvalidParameterException", "Error reason: Your request is missing a required parameter., field: ADDRESSES"}
		}
		return s.update(in.LockToken, in.Description, *in.Addresses)
	}
	return nil, &refusal{"UnknownOperationException", ""}
}

func (s *Set) token() string { return fmt.Sprintf("2bd30bb4-ba8c-4e00-9a8c-%012d", s.lock) }

// described is the pattern of a description in the model.
var described = regexp.MustCompile(`^[\w+=:#@/\-,.][\w+=:#@/\-,.\s]+[\w+=:#@/\-,.]$`)

func (s *Set) update(lock, description string, addresses []string) (any, *refusal) {
	switch {
	case lock != s.token():
		return nil, &refusal{"WAFOptimisticLockException", "AWS WAF couldn’t save your changes because someone changed the resource after you started to edit it. Reapply your changes."}
	case len(addresses) > 10_000:
		return nil, &refusal{"WAFLimitsExceededException", "AWS WAF couldn’t perform the operation because you exceeded your resource limit."}
	case !described.MatchString(description):
		return nil, &refusal{"WAFInvalidParameterException", "Error reason: The parameter doesn't match the pattern., field: DESCRIPTION"}
	}
	var all []string
	for _, text := range addresses {
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Bits() == 0 || p != p.Masked() || p.Addr().Is4() != (s.Version == "IPV4") {
			return nil, &refusal{"WAFInvalidParameterException", "Error reason: The parameter contains formatting that is not valid., field: IP_ADDRESS, parameter: " + text}
		}
		if p.Addr().Is6() {
			text = fmt.Sprintf("%s/%d", p.Addr().StringExpanded(), p.Bits())
		}
		all = append(all, text)
	}
	slices.Reverse(all) // no order is promised
	s.Description, s.Addresses = description, all
	s.lock++
	return map[string]string{"NextLockToken": s.token()}, nil
}
