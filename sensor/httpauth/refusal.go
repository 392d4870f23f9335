package httpauth

import (
	"encoding/json"
	"strconv"
	"time"

	"edgeguard"
)

// refusal is the answer to a client that is denied. RateLimit and
// RateLimit-Policy are those of draft-ietf-httpapi-ratelimit-headers-11; both
// are empty for a rule without a policy.
type refusal struct {
	retryAfter      string // whole seconds, rounded up, at least 1
	rule            string
	rateLimit       string
	rateLimitPolicy string
	body            []byte // an RFC 9457 problem
}

const (
	statusRefused  = 429
	problemJSON    = "application/problem+json"
	problemsAt     = "https://iana.org/assignments/http-problem-types#"
	reasonBlocked  = "blocked" // the detector's word for a standing block
	headerStatus   = "X-Edgeguard-Status"
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

func (a *asker) refusal(v *edgeguard.Verdict) refusal {
	seconds := int64(max(1, (v.RetryAfter+time.Second-1)/time.Second))
	r := refusal{retryAfter: strconv.FormatInt(seconds, 10), rule: visible(v.Rule)}
	if a.config.Policy != nil {
		if p, ok := a.config.Policy(v.Rule); ok {
			name := quoted(r.rule)
			r.rateLimit = name + ";r=0;t=" + r.retryAfter
			r.rateLimitPolicy = name + ";q=" + strconv.FormatUint(uint64(p.Quota), 10) +
				";w=" + strconv.FormatInt(int64(p.Window/time.Second), 10)
		}
	}
	why := problem{problemQuota, titleQuota, statusRefused, []string{v.Rule}}
	if v.Reason == reasonBlocked {
		why.Type, why.Title = problemPattern, titleAbnormal
	}
	r.body, _ = json.Marshal(why) // strings and a number: it cannot go wrong
	return r
}

// headers passes the refusal's header lines.
func (r *refusal) headers(set func(name, value string)) {
	set(headerRetry, r.retryAfter)
	set(headerType, problemJSON)
	set(headerRule, r.rule)
	if r.rateLimit != "" {
		set(headerLimit, r.rateLimit)
		set(headerPolicy, r.rateLimitPolicy)
	}
}

// visible replaces what a header line or a structured field's string cannot
// hold: a rule's name may be in any script.
func visible(name string) string {
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
