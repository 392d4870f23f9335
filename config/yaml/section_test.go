package yaml

import "testing"

func TestTopSection(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"another key", "listener: 1\nmode: x\n", ""},
		{"below another key", "a:\n  listen: 1\n", ""},
		{"one line", "mode: [\nlisten: {admin: []}\nrules: x\n", "listen: {admin: []}\n"},
		{"a block with comments", "listen:\n  auth: []\n\n# note\n  admin: []\nrules: [\n", "listen:\n  auth: []\n\n# note\n  admin: []\n"},
		{"flow over lines", "listen: {\n  admin: [\n]\n}\nx: y\n", "listen: {\n  admin: [\n]\n}\n"},
		{"the last, without an end of line", "a: b\nlisten: {}", "listen: {}"},
		{"carriage returns", "listen:\r\n  admin: []\r\n\r\nmode: x\r\n", "listen:\r\n  admin: []\r\n\r\n"},
	} {
		if got := string(TopSection([]byte(c.text), "listen")); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
