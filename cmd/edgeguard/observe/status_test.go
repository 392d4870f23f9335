package observe

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/haproxy"
)

// Of each log and each listener for HAProxies, status says when its last event was counted, or that none was. Forward
// auth has no such time.
func TestSourcesSayWhenTheyLastDelivered(t *testing.T) {
	var out bytes.Buffer
	drawSources(&out, false, &admin.Stats{
		Sources:   []admin.Source{{Name: "auth 127.0.0.1:9180", Events: 3}, {Name: "log /a.log", Events: 7}, {Name: "log /b.log"}, {Name: "haproxy unix:/a", Events: 5}, {Name: "haproxy unix:/b"}},
		Logs:      []admin.Log{{Name: "/a.log", Last: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, {Name: "/b.log"}},
		HAProxies: []haproxy.ListenerFigures{{Address: "unix:/a", LastCounted: time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)}, {Address: "unix:/b"}},
	})
	for _, line := range []string{`auth 127\.0\.0\.1:9180 +3`, `log /a\.log +7 +2026-03-01 12:00:00Z`, `log /b\.log +0 +never`, `haproxy unix:/a +5 +2026-03-01 13:00:00Z`, `haproxy unix:/b +0 +never`} {
		if !regexp.MustCompile(`(?m)^` + line + ` *$`).MatchString(out.String()) {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
}
