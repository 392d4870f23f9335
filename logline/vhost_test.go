package logline

import (
	"strings"
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
		{`example.org 192.0.2.1 - 9.9.9.9 - -` + rest, "192.0.2.1"},
		{`192.0.2.1 - x 9.9.9.9 - -` + rest, ""}, // of combined
		{`192.0.2.1, 10.0.0.1 - -` + rest, ""},   // X-Forwarded-For: the last is a proxy
		{`2001:db8::1, 10.0.0.1 - -` + rest, ""},
		{`192.0.2.1,192.0.2.2 10.0.0.1 - -` + rest, ""},
		{`192.0.2.1, 192.0.2.2, 10.0.0.1 - -` + rest, ""},
	} {
		testHost(t, "vhost_combined", test.line, test.want)
	}
}

// TestHostFirst holds that a host ends at its first blank where another field could move
// it, and only there.
func TestHostFirst(t *testing.T) {
	const rest = ` [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 401`
	const refused = ` [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 400`
	for _, test := range []struct{ format, line, want string }{
		{`$host $remote_addr - $remote_user [$time_local] "$request" $status`, `a.example.org 192.0.2.1 - x 9.9.9.9 - b` + rest, "192.0.2.1"},
		{`$host $remote_addr - $remote_user [$time_local] "$request" $status`, `a,b 192.0.2.1 - ` + strings.Repeat("x 9.9.9.9 - b [", 3000) + rest, "192.0.2.1"},
		{`"$request" $status $host $remote_addr - $remote_user [$time_local]`, `"GET /" 401 a 192.0.2.1 - x 9.9.9.9 - b [20/Feb/2016:00:00:45 -0500]`, "192.0.2.1"},
		{`%V %h %l %u %t "%r" %>s`, `a.example.org 192.0.2.1 - x 9.9.9.9 - b` + rest, "192.0.2.1"},
		{`$host:$server_port $remote_addr - $remote_user [$time_local] "$request" $status`, `[2001:db8::2]:80 2001:db8::1 - b` + rest, "2001:db8::1"},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, `a 192.0.2.1 - x 9.9.9.9 - b` + rest, "192.0.2.1"},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, `a 192.0.2.1 - x y` + refused, "192.0.2.1"},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, `a 192.0.2.1 - x 9.9.9.9 - b` + refused, ""},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, `x 9.9.9.9 - b 192.0.2.1 - -` + refused, ""},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request" $status`, `a b 192.0.2.1 - -` + refused, "192.0.2.1"},
		{`$http_host $remote_addr - $remote_user [$time_local] "$request"`, `a 192.0.2.1 - x 9.9.9.9 - b [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1"`, ""},
		{`$http_host|$remote_addr|$remote_user|[$time_local] "$request" $status`, `a|192.0.2.1|x|9.9.9.9|b|[20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 401`, ""},
		{`$http_x $remote_addr - $remote_user [$time_local] "$request" $status`, `a 192.0.2.1 - x 9.9.9.9 - b` + rest, ""},
		{`$status $http_host $remote_addr - $remote_user [$time_local] "$request"`, `401 a 192.0.2.1 - x 9.9.9.9 - b [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1"`, "192.0.2.1"},
		{`$remote_addr [$time_local] $host "$request" $status`, `192.0.2.1 [20/Feb/2016:00:00:45 -0500] a b "GET / HTTP/1.1" 401`, "192.0.2.1"},
	} {
		testHost(t, test.format, test.line, test.want)
	}
}

// testHost holds which address a line is of, "" for one that is skipped.
func testHost(t *testing.T, format, line, want string) {
	t.Helper()
	f, err := ParseFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	var ev edgeguard.Event
	got := ""
	if f.start(time.UTC).Parse([]byte(line), &ev) == scan.Read {
		got = ev.Addr.String()
	}
	if got != want {
		t.Errorf("%s: %.200s: %q, want %q", format, line, got, want)
	}
}
