package access

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A DELETE without a body needs no content type: a browser asks before it sends one
// for another page. Nothing else is spared.
func TestBareDelete(t *testing.T) {
	p := &Policy{}
	for _, c := range []struct {
		method, body, contentType string
		ok                        bool
	}{
		{"DELETE", "", "", true},
		{"DELETE", "", "application/json", true},
		{"DELETE", "", "text/plain", false},
		{"DELETE", "x", "", false},
		{"POST", "", "", false},
		{"PATCH", "", "", false},
	} {
		r := httptest.NewRequest(c.method, "/api/v1/blocks/203.0.113.1", strings.NewReader(c.body))
		if c.contentType != "" {
			r.Header.Set("Content-Type", c.contentType)
		}
		if got := p.content(r, "/api/v1/blocks/{prefix...}", &Caller{}) == nil; got != c.ok {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
