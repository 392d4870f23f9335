package config_test

import (
	"fmt"

	"edgeguard/config"
)

// A file is checked whole: every problem has its line, and what to do about it.
func ExampleParse() {
	_, err := config.Parse("edgeguard.yaml", []byte(`
allowlist: [192.0.2.5/24]
rules:
  - name: login
    match: {method: POST, path: login}
    treshold: 20
`))
	fmt.Println(err)
	// Output:
	// edgeguard.yaml:2:13: allowlist[0]: "192.0.2.5/24" has host bits set; use 192.0.2.0/24 or 192.0.2.5
	// edgeguard.yaml:5:33: rules[0].match.path: "login" does not begin with a slash; write /login or *login
	// edgeguard.yaml:6:5: rules[0].treshold: unknown field; did you mean "threshold"?
}
