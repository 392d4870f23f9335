package nginx_test

import (
	"strings"
	"testing"

	"edgeguard/migrate/nginx"
)

// What `nginx -T` prints is one tree, with each file where it is included.
func TestDump(t *testing.T) {
	root, missing, err := nginx.ReadConf("nginx: configuration file /n/nginx.conf test is successful\n" +
		"# configuration file /n/nginx.conf:\r\nhttp {\r\n\tinclude conf.d/*.conf; include gone; include none/*;\r\n}\r\n" +
		"# configuration file /n/conf.d/a.conf:\nserver { include /n/x/deep; }\n" +
		"# configuration file /n/x/deep:\nlisten 80; # }\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	root.EachBelow(func(n *nginx.ConfNode) { got = append(got, strings.Join(n.Words, " ")+" "+n.Place()) })
	for _, n := range missing {
		got = append(got, "missing "+n.Word(1)+n.Word(2))
	}
	const want = "http /n/nginx.conf:1, server /n/conf.d/a.conf:1, listen 80 /n/x/deep:1, missing gone"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}
