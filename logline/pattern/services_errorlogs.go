package pattern

// Apache's error log has the address before all that a client sends. Since 2.4 a
// module is named and a port follows the address, also that of an IPv6 address
// without brackets.
const (
	apache24 = `{}\[[a-z0-9_]*:[a-z0-9]+\] (?:\[pid \d+(?::tid \d+)?\] )?(?:\(\d+\)[^\[\]]*: )?\[client ADDR:\d+\] (?:AH\d+: )?`
	apache22 = `{}\[[a-z]+\] \[client (?P<addr>[^\]]+)\] `

	apacheFailure   = `(?:user .*(?: not found|password mismatch|Password Mismatch|authentication failure)|Digest: user |client used wrong authentication scheme)`
	apacheRejection = `(?:client denied by server configuration|(?:\[client [^\]]*\] )?ModSecurity: Access denied)`
)

// nginx writes what a client sends as it is, on both sides of the address. So where
// a name precedes it, the whole line must be as nginx writes it, with no quote
// inside a field: behind a name that holds a forged line there are still nginx'
// own words, which begin with a quote. A password mismatch is no exception: a name
// that was not found can hold those words, too.
//
// None of that is evidence: a path of a file that is not there is written decoded, with
// its line breaks (GET /%0A2026...), so that one request can write any lines.
const (
	nginxHead = `{}\[[a-z]+\] \d+#\d+: (?:\*\d+ )?`
	nginxTail = `, client: (?P<addr>[^ ,]+), server: `
)

var errorLogServices = []service{
	{
		name:     "apache-error",
		failures: []string{apache24 + apacheFailure, apache22 + apacheFailure},
		rejected: []string{apache24 + apacheRejection, apache22 + apacheRejection},
	},
	{
		name: "nginx-error", forgeable: true,
		failures: []string{
			nginxHead + `user "[^"]*"(?:: password mismatch| was not found in "[^"]*")` + nginxTail + `[^",]*, request: "[^"]*"(?:, host: "[^"]*")?(?:, referrer: "[^"]*")?$`,
			nginxHead + `client login failed: "[^"]*" while in http auth state` + nginxTail,
		},
		rejected: []string{
			nginxHead + `limiting requests, excess: [\d.]+,? by zone "[^"]*"` + nginxTail,
			nginxHead + `limiting connections by zone "[^"]*"` + nginxTail,
			nginxHead + `access forbidden by rule` + nginxTail,
		},
	},
	{name: "zoneminder", failures: []string{apache24 + `(?:WAR|ERR) \[(?:Login denied for user|Could not retrieve user)`}},
}
