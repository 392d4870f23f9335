// Package call hides how a call of the admin API is read from its request.
//
// It reads the query, the JSON, prefixes and spans of time, and answers with JSON or
// with a [Problem] that names the field and the fix.
package call

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Problem is what the API answers instead of what was asked for (RFC 9457,
// application/problem+json).
type Problem struct {
	Title  string `json:"title"`  // the status in words
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail"` // what is wrong
	Field  string `json:"field,omitempty"`
	Fix    string `json:"fix,omitempty"` // what to do about it
	// Forceable says, to a page, that the same with force would be accepted.
	Forceable bool `json:"-"`
}

// NoPath returns that nothing is at a request's path.
func NoPath(r *http.Request) *Problem {
	return NewProblem(http.StatusNotFound, "", fmt.Sprintf("there is no %s %s", r.Method, r.URL.Path), "see docs/api.md")
}

// NewProblem makes one of its parts.
func NewProblem(status int, field, detail, fix string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, Field: field, Fix: fix}
}

// Error returns field, detail and fix in one line.
func (p *Problem) Error() string {
	text := p.Detail
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	if p.Fix != "" {
		text = fmt.Sprintf("%s; %s", text, p.Fix)
	}
	return text
}

// Send answers with the problem.
func (p *Problem) Send(w http.ResponseWriter) {
	send(w, p.Status, "application/problem+json", p)
}

// SendJSON answers with a value.
func SendJSON(w http.ResponseWriter, status int, value any) {
	send(w, status, "application/json", value)
}

func send(w http.ResponseWriter, status int, contentType string, value any) {
	body, err := json.Marshal(value)
	if err != nil { // every value sent is a plain struct; only a Reader's odd time can do this
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		body, _ = json.Marshal(NewProblem(status, "", "the answer cannot be encoded: "+err.Error(), ""))
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who has gone away needs no answer
}
