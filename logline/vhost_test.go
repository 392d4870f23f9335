package logline

import (
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// A user's name that looks like a line hides no request, and moves it to nobody
// else: the port behind the host says where that ends.
func TestVhostWithHostileUser(t *testing.T) {
	const rest = ` [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 401 187 "-" "x"`
	for _, test := range []struct {
		line, want string // the address; "" for a line that is skipped
	}{
		{`example.org:80 192.0.2.1 - 9.9.9.9 - - ` + rest, "192.0.2.1"},
		{`example.org:443 192.0.2.1 - x 9.9.9.9 - -` + rest, "192.0.2.1"},
		{`example.org:443 2001:db8::1 - x:80 9.9.9.9 - -` + rest, "2001:db8::1"},
		{`[::1]:80 192.0.2.1 - -` + rest, "192.0.2.1"},
		{`example.org 192.0.2.1 - -` + rest, "192.0.2.1"},
		{`example.org 192.0.2.1 - 9.9.9.9 - -` + rest, ""}, // the host may be "example.org 192.0.2.1 -"
		{`x 9.9.9.9 - - 192.0.2.1 - -` + rest, ""},         // and here it is
		{`x 9.9.9.9 - -:80 192.0.2.1 - -` + rest, ""},
	} {
		f, err := ParseFormat("vhost_combined")
		if err != nil {
			t.Fatal(err)
		}
		var ev edgeguard.Event
		got := ""
		if f.start(time.UTC).Parse([]byte(test.line), &ev) == scan.Read {
			got = ev.Addr.String()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.line, got, test.want)
		}
	}
}
