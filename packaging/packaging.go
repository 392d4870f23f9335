// Package packaging has the config that packages install, so that an untouched one is
// recognized.
package packaging

import _ "embed" // the config

// Config is the text of edgeguard.yaml as it is installed.
//
//go:embed edgeguard.yaml
var Config string
