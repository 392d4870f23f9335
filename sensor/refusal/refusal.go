// Package refusal writes what a client reads that is refused. It says when to come again, by
// which rule, and why.
package refusal

import (
	"encoding/json"
	"strconv"
	"time"

	"edgeguard"
)

// Status is the HTTP status of a refusal, and ContentType that of its body.
const (
	Status      = 429
	ContentType = "application/problem+json"
)

// Policy is what a rule allows: Quota events in a Window.
type Policy struct {
	Quota  uint32
	Window time.Duration
}

// Refusal is the answer to a client that is denied. RateLimit and RateLimit-Policy are those
// of draft-ietf-httpapi-ratelimit-headers-11; both are empty for a rule without a policy.
type Refusal struct {
	Body []byte // an RFC 9457 problem

	retryAfter      string // whole seconds, rounded up, at least 1
	rule            string
	rateLimit       string
	rateLimitPolicy string
}

const (
	problemsAt     = "https://iana.org/assignments/http-problem-types#"
	reasonBlocked  = "blocked" // the detector's word for a standing block
	headerRule     = "X-Edgeguard-Rule"
	headerLimit    = "RateLimit"
	headerPolicy   = "RateLimit-Policy"
	headerRetry    = "Retry-After"
	headerType     = "Content-Type"
	titleQuota     = "Request cannot be satisfied as assigned quota has been exceeded"
	titleAbnormal  = "Request not satisfied due to detection of abnormal request pattern"
	problemQuota   = problemsAt + "quota-exceeded"
	problemPattern = problemsAt + "abnormal-usage-detected"
)

// problem is the body, in the order of RFC 9457.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies"`
}

// Of returns the refusal by a verdict. policy returns the quota of a rule for the RateLimit
// fields; false, or a nil policy: it goes without them.
func Of(v *edgeguard.Verdict, policy func(rule string) (Policy, bool)) Refusal {
	seconds := int64(max(1, (v.RetryAfter+time.Second-1)/time.Second))
	r := Refusal{retryAfter: strconv.FormatInt(seconds, 10), rule: Visible(v.Rule)}
	if policy != nil {
		if p, ok := policy(v.Rule); ok {
			name := quoted(r.rule)
			r.rateLimit = name + ";r=0;t=" + r.retryAfter
			r.rateLimitPolicy = name + ";q=" + strconv.FormatUint(uint64(p.Quota), 10) +
				";w=" + strconv.FormatInt(int64(p.Window/time.Second), 10)
		}
	}
	why := problem{problemQuota, titleQuota, Status, []string{v.Rule}}
	if v.Reason == reasonBlocked {
		why.Type, why.Title = problemPattern, titleAbnormal
	}
	r.Body, _ = json.Marshal(why) // strings and a number: it cannot go wrong
	return r
}

// Headers passes the refusal's header lines.
func (r *Refusal) Headers(set func(name, value string)) {
	set(headerRetry, r.retryAfter)
	set(headerType, ContentType)
	set(headerRule, r.rule)
	if r.rateLimit != "" {
		set(headerLimit, r.rateLimit)
		set(headerPolicy, r.rateLimitPolicy)
	}
}

// Visible replaces what a header line or a structured field's string cannot
// hold: a rule's name may be in any script.
func Visible(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if c < ' ' || c > '~' {
			clean[i] = '?'
		}
	}
	return string(clean)
}

// quoted writes a structured field's string (RFC 9651 section 4.1.6).
func quoted(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, s[i])
	}
	return string(append(out, '"'))
}
