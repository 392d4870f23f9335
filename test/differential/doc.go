// Package differential asks real servers whether every request that they serve is
// counted. It sends nginx, Apache, Caddy and HAProxy thousands of random requests,
// raw over TCP; they say in their own log which path they served to which client.
// edgeguard reads their ordinary log. Where the two differ, an attacker has a way
// past the rules.
//
// Its test sends 3,000 requests to each server in an ordinary `go test`, and
// 50,000 with TORTURE=1; REQUESTS=N sends another number. What is drawn at random is
// drawn from a seed that is printed; SEED=N draws it again. A client's address is
// one of 127.0.0.0/8, another for each request: that is how the two logs are laid
// side by side, and why the detector, which protects those, is not asked.
//
// Nothing of edgeguard imports it.
package differential
