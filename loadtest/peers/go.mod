module edgeguard/loadtest/peers

go 1.26.0

require (
	edgeguard v0.0.0
	github.com/sethvargo/go-limiter v0.7.1
	golang.org/x/time v0.16.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect

replace edgeguard => ../..
