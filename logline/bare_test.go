package logline

import (
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/logline/scan"
)

// TestBareValues holds that what a server writes without quotes costs no line, whatever it
// is and wherever the line is cut into pieces, and that nothing of it is taken for a member.
func TestBareValues(t *testing.T) {
	const addr, at = `"remote_addr":"192.0.2.1"`, `"ts":1455926445`
	for _, bare := range []string{"", "-", "0.1, 0.2", "0.1, 0.2 : 0.3", "a : b", " ", "10.0.0.1:80, unix:/x, -", ",", ",,", `x"y,z"`, "null", "NaN", "+1.5e3", "27/Nov/2026:10:00:00 +0000"} {
		for _, line := range []string{
			`{` + addr + `,` + at + `,"request":"GET /a HTTP/1.1","status":429,"upstream_response_time":` + bare + `,"u":"x"}`,
			`{"upstream_response_time":` + bare + `,` + addr + `,` + at + `,"request":"GET /a HTTP/1.1","status":429}`,
			`{"upstream_response_time" : ` + bare + ` , ` + addr + `,` + at + `,"request":"GET /a HTTP/1.1","status":429,"x":` + bare + `}`,
		} {
			for format, want := range map[string]string{
				"json": atHome + rr + "method=GET path=/a 429",
				"json:addr=remote_addr,time=ts,request_line=request,status=status": atHome + rr + "method=GET path=/a 429",
			} {
				var ev edgeguard.Event
				if why := parserOf(t, format, "").Parse([]byte(line), &ev); why != scan.Read || shown(&ev) != want {
					t.Errorf("%s: %s: %q %s", format, line, why, shown(&ev))
				}
			}
			for size := 1; size < 12; size++ {
				s, rest := parserOf(t, "json", "").(scan.Streamer).Stream(), []byte(line)
				for len(rest) > 0 {
					n := min(size, len(rest))
					s.Feed(rest[:n])
					rest = rest[n:]
				}
				var ev edgeguard.Event
				if why := s.End(&ev); why != scan.Read || ev.Addr.String() != "192.0.2.1" || ev.Status != 429 || ev.Path != "/a" {
					t.Errorf("in pieces of %d: %s: %q %s", size, line, why, shown(&ev))
				}
			}
		}
	}
	for line, want := range map[string]scan.Reason{
		`{"remote_addr":,"ts":1455926445}`:                     scan.NoAddr,
		`{"remote_addr":192.0.2.1, 9.9.9.9,"ts":1455926445}`:   scan.BadAddr,
		`{"remote_addr":"192.0.2.1","ts":}`:                    "no time under a known name",
		`{"remote_addr":"192.0.2.1","ts":-}`:                   scan.BadTime,
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x":1`:     "not a JSON object",
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x":}`:     scan.Read,
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x":]}`:    "not a JSON object",
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x":1,}`:   scan.Read,
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x":"", }`: scan.Read,
		`{"remote_addr":"192.0.2.1","ts":1455926445,"x" 1}`:    "not a JSON object",
		`{"remote_addr":"192.0.2.1","ts":1455926445,"h":[ ]}`:  scan.Read,
	} {
		var ev edgeguard.Event
		if why := parserOf(t, "json", "").Parse([]byte(line), &ev); why != want {
			t.Errorf("%s: %q, want %q", line, why, want)
		}
	}
	if why := parserOf(t, "docker:combined", "").Parse([]byte(`{"log":,"x":"y"}`), new(edgeguard.Event)); !strings.Contains(string(why), "neither a text") {
		t.Errorf("an envelope of nothing: %q", why)
	}
}
