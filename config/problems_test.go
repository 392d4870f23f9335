package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard/config"
	"edgeguard/config/yaml"
)

// TestProblems has one file for each thing that can be wrong: where it is
// said to be, and part of what is said.
func TestProblems(t *testing.T) {
	rule := func(field string) string { return "rules:\n  - name: a\n    threshold: 5\n    " + field + "\n" }
	for _, c := range []struct {
		name, text, place, says string
	}{
		{"not YAML", "a: [1\nb: 2\n", "2:1", "not YAML"},
		{"bad indent", "node: a\n mode: b\n", "1:7", "not YAML"},
		{"a list", "- a\n", "1:1", "expected a mapping"},
		{"two documents", "node: a\n---\nnode: b\n", "3:1", "second document"},
		{"not UTF-8", "node: a\nstate: \xff\n", "2:1", "UTF-8"},
		{"unknown", "colour: red\n", "1:1", "colour: unknown field; remove it"},
		{"people without a count", "rules: [{name: a, threshold: 2, people: {scene: x}}]\n", "1:33", "rules[0].people: has no count; write {count: 56, scene: office}: how high people count, and in which traffic; or remove it"},
		{"a comma in a number", "rules: [{name: a, threshold: 2,000}]\n", "1:30", "rules[0].threshold: got 2; a comma ends a value here: write 2000"},
		{"two commas in a number", "rules: [{name: a, threshold: 2,000,000}]\n", "1:30", "write 2000000"},
		{"a decimal comma", "rules: [{name: a, guard: 0,95, threshold: 30}]\n", "1:26", "write 0.95"},
		{"a comma in a list", "rules: [{name: a, threshold: [2,000]}]\n", "1:19", "whole number"},
		{"a number that is a field", "rules: [{000: , name: a, threshold: 30}]\n", "1:10", "unknown field"},
		{"unknown and near", "allow_list: [192.0.2.1]\n", "1:1", `did you mean "allowlist"?`},
		{"swapped letters", rule("acton: deny"), "4:5", `did you mean "action"?`},
		{"twice", "mode: monitor\nnode: a\nmode: enforce\n", "3:1", "mode: is given twice, first on line 1"},
		{"merge key", "<<: {node: a}\n", "1:1", "<< is not supported"},
		{"alias of nothing", "node: *a\n", "1:7", ""},
		{"no value", "allowlist:\n", "1:1", "give it a value"},
		{"mode", "mode: monitr\n", "1:7", `did you mean "monitor"?`},
		{"mode far off", "mode: shout\n", "1:7", "use enforce, monitor"},
		{"number for text", "node: 12\n", "1:7", `put it in quotes: "12"`},
		{"truth for text", "node: true\n", "1:7", `put it in quotes: "true"`},
		{"list for text", "node: [a]\n", "1:1", "got a list"},
		{"text for mapping", "listen: here\n", "1:9", `got the text "here"`},
		{"empty text", "node: ''\n", "1:7", "is empty"},
		{"several lines", "node: |\n  a\n  b\n", "1:7", "one line"},
		{"size without unit", "memory: 512\n", "1:9", "invalid size"},
		{"size with another unit", "memory: 512M\n", "1:9", "512MiB"},
		{"size too small", "memory: 1MiB\n", "1:9", "at least 16MiB"},
		{"events without end", "keep_events: 17GiB\n", "1:14", "at most 16GiB"},
		{"no room for a burst of changes", "keep_events: 8MiB\n", "1:14", "at least 16MiB"},
		{"size overflows", "memory: 9999999999999TiB\n", "1:9", "invalid size"},
		{"few blocks", "max_blocks: 10\n", "1:13", "1000"},
		{"a number in quotes", "max_blocks: '5000'\n", "1:13", "write a whole number, without quotes"},
		{"a truth of another version", "roll_up: yes\n", "1:10", "write true or false"},
		{"an empty list of mappings", "rules:\n", "1:1", "expected a list, got nothing; give it a value, or remove it"},
		{"an empty list of words", "allowlist:\n", "1:1", "expected a list, got nothing"},
		{"a name of two lines", "node: \"a\\nb\"\n", "1:7", "without control characters"},
		{"a long name", "node: " + strings.Repeat("a", 256) + "\n", "1:7", "at most 255 bytes"},
		{"roll_up", "roll_up: maybe\n", "1:10", "true"},
		{"log format", "log: {format: jsno}\n", "1:15", "did you mean \"json\"?"},
		{"log level", "log: {level: loud}\n", "1:14", "use debug, info, warn, error"},
		{"log level as a number", "log: {level: 3}\n", "1:14", "expected text, got 3"},
		{"log as a word", "log: json\n", "1:6", "expected a mapping of fields"},
		{"log to a file", "log: {file: /a}\n", "1:7", "log.file: unknown field"},
		{"flood sources", "floods: {sources: -1}\n", "1:19", "from 0 to 100000000"},
		{"flood times", "floods: {times: 1e3}\n", "1:17", "whole number"},
		{"relative state", "state: var/lib\n", "1:8", "absolute"},
		{"address", "listen: {admin: localhost}\n", "1:17", "cannot listen"},
		{"port without a host", "listen: {auth: [9180]}\n", "1:17", "is a port without a host; write \"127.0.0.1:9180\""},
		{"tab", "listen:\n\tauth: []\n", "2:1", "use spaces"},
		{"port", "listen: {auth: ['127.0.0.1:99999']}\n", "1:17", "cannot listen"},
		{"prefix", "allowlist: [example.org]\n", "1:13", "invalid prefix"},
		{"ambiguous address", "allowlist: [01.2.3.4]\n", "1:13", "leading zeros"},
		{"host bits", "allowlist: 192.0.2.5/24\n", "1:12", "use 192.0.2.0/24 or 192.0.2.5"},
		{"mapped", "allowlist: ['::ffff:192.0.2.1']\n", "1:13", "use 192.0.2.1"},
		{"text that YAML takes for a mapping", "listen: {auth: [127.0.0.1:9180]}\n", "1:17", "in quotes if it is text with a colon"},
		{"zone", "allowlist: ['fe80::1%eth0']\n", "1:13", "zone"},
		{"short address", "trusted_proxies: [10.1]\n", "1:19", "invalid prefix"},
		{"bouncers without TLS", "crowdsec: {lapi: {listen: '0.0.0.0:9280'}}\n", "1:27", "listen at 127.0.0.1:9280, or set tls"},
		{"bouncers with half of TLS", "crowdsec: {lapi: {tls: {cert_file: /a}}}\n", "1:19", "requires cert_file and key_file"},
		{"bouncers at a unix socket", "crowdsec: {lapi: {listen: 'unix:/a'}}\n", "1:27", "write host:port"},
		{"decisions without a LAPI", "crowdsec: {decisions: {key_file: /k}}\n", "1:12", "has no url"},
		{"decisions without a key", "crowdsec: {decisions: {url: 'https://a:8080'}}\n", "1:12", "cscli bouncers add"},
		{"a key in plain text", "crowdsec: {decisions: {url: 'http://lapi:8080', key_file: /k}}\n", "1:29", "set insecure: true"},
		{"a key in a URL", "crowdsec: {decisions: {url: 'https://k:v@lapi', key_file: /k}}\n", "1:29", "remove it"},
		{"a LAPI with a query", "crowdsec: {decisions: {url: 'https://lapi/?a', key_file: /k}}\n", "1:29", "use https://HOST:PORT"},
		{"a LAPI by another protocol", "crowdsec: {decisions: {url: 'ftp://lapi', key_file: /k}}\n", "1:29", "use https://HOST:PORT"},
		{"a CA without TLS", "crowdsec: {decisions: {url: 'http://127.0.0.1:8080', key_file: /k, ca_file: /c}}\n", "1:77", "remove ca_file"},
		{"decisions too often", "crowdsec: {decisions: {url: 'https://lapi', key_file: /k, every: 10ms}}\n", "1:66", "1s"},
		{"alerts without a machine", "crowdsec: {alerts: {url: 'https://lapi', password_file: /p}}\n", "1:12", "cscli machines add"},
		{"alerts in plain text", "crowdsec: {alerts: {url: 'http://192.0.2.1:8080', machine_id: a, password_file: /p}}\n", "1:26", "set insecure: true"},
		{"two listeners for bouncers at one address", "crowdsec: {lapi: [{}, {}]}\n", "1:23", "already in use by crowdsec.lapi[0]"},
		{"a list without a name", "blocklists: [{file: /a}]\n", "1:14", "set name"},
		{"a list with two sources", "blocklists: [{name: a, file: /a, url: 'https://x/'}]\n", "1:14", "set one of them"},
		{"two lists of one name", "blocklists: [{name: a, file: /a}, {name: a, file: /b}]\n", "1:42", "already the name of a list"},
		{"a list with CrowdSec's name", "blocklists: [{name: crowdsec, file: /a}]\n", "1:21", "use another name"},
		{"a list with a path for a name", "blocklists: [{name: ../a, file: /a}]\n", "1:21", "use at most 32 letters"},
		{"a list by http", "blocklists: [{name: a, url: 'http://lists.example.org/'}]\n", "1:29", "use https"},
		{"a list with a password", "blocklists: [{name: a, url: 'https://me:s3cret@lists.example.org/'}]\n", "1:29", "set header_file"},
		{"a list too often", "blocklists: [{name: a, url: 'https://lists.example.org/', every: 1m}]\n", "1:66", "use at least 10m"},
		{"a list that ends before it can fail", "blocklists: [{name: a, url: 'https://lists.example.org/', every: 4d}]\n", "1:14", "use at least twice every, 8d"},
		{"a file that is asked for", "blocklists: [{name: a, file: /a, private: true}]\n", "1:14", "apply to a url only"},
		{"a list without end", "blocklists: [{name: a, file: /a, most: 1000001}]\n", "1:40", "from 1 to 1000000"},
		{"sensor without a source", "sensors: {accesslog: [{format: common}]}\n", "1:23", "exactly one of file and listen"},
		{"sensor with two", "sensors: {accesslog: [{file: a, listen: 'unix:/b'}]}\n", "1:23", "one of them"},
		{"packet without interface", "sensors: {packet: {kinds: syn}}\n", "1:11", "interface"},
		{"packet kind", "sensors: {packet: {interface: a, kinds: [sin]}}\n", "1:42", `did you mean "syn"?`},
		{"requests out of packets", "sensors: {packet: {interface: a, kinds: [request]}}\n", "1:42", "use handshake, syn, udp, icmp"},
		{"no packet kind", "sensors: {packet: {interface: a, kinds: []}}\n", "1:34", "empty list"},
		{"any interface", "sensors: {packet: {interface: any}}\n", "1:31", "any is no interface"},
		{"path of an interface", "sensors: {packet: {interface: [a, /dev/a]}}\n", "1:35", "invalid name"},
		{"interface twice", "sensors: {packet: {interface: [a, b, a]}}\n", "1:38", "is there twice"},
		{"no interfaces", "sensors: {packet: {interface: []}}\n", "1:11", "has no interface"},
		{"promiscuous, and nothing inside", "sensors: {packet: {interface: a, promiscuous: true}}\n", "1:47", "inside is not"},
		{"a small ring", "sensors: {packet: {interface: a, ring: 4KiB}}\n", "1:40", "1MiB"},
		{"two listeners at one address", "listen: {auth: ['127.0.0.1:9180', 'tcp:127.0.0.1:9180']}\n", "1:35", "already in use by listen.auth[0]"},
		{"admin for everybody", "listen: {admin: '0.0.0.0:9190'}\n", "1:17", "set token_file"},
		{"one token for two roles", "listen: {admin: {address: '127.0.0.1:1', token_file: /a, reader_token_file: /a}}\n", "1:10", "another file"},
		{"proxy without addresses", "listen: {admin: {address: '127.0.0.1:1', proxy_auth: {secret_file: /a}}}\n", "1:42", "set from"},
		{"proxy without a secret", "listen: {admin: {address: '127.0.0.1:1', proxy_auth: {from: 127.0.0.1}}}\n", "1:42", "a unix socket of its own"},
		{"proxy on a unix socket with addresses", "listen: {admin: {address: 'unix:/a', proxy_auth: {from: 127.0.0.1}}}\n", "1:38", "remove from"},
		{"proxy with one header for two", "listen: {admin: {address: 'unix:/a', proxy_auth: {user: X-A, role: x-a}}}\n", "1:38", "user and role are one header"},
		{"proxy with a bad header", "listen: {admin: {address: 'unix:/a', proxy_auth: {user: 'X A'}}}\n", "1:57", "invalid header"},
		{"proxy with a relative secret", "listen: {admin: {address: '127.0.0.1:1', proxy_auth: {from: 127.0.0.1, secret_file: a}}}\n", "1:85", "absolute path"},
		{"proxy with a typing error", "listen: {admin: {address: 'unix:/a', proxy_auth: {users: X-A}}}\n", "1:51", `did you mean "user"?`},
		{"admin on a datagram socket", "listen: {admin: 'unixgram:/a'}\n", "1:17", "cannot listen"},
		{"listener without address", "listen: {auth: [{emit: nothing, trust: []}]}\n", "1:17", "has no address"},
		{"listener that emits answers", "listen: {auth: [{address: 'unix:/a', emit: response}]}\n", "1:44", "use request, nothing"},
		{"listener with a bad header", "listen: {auth: [{address: 'unix:/a', header: 'X Y'}]}\n", "1:46", "invalid header"},
		{"mode of a port", "listen: {auth: [{address: '127.0.0.1:1', mode: 0660}]}\n", "1:17", "not a unix socket"},
		{"group of a file", "sensors: {accesslog: {file: a, group: adm}}\n", "1:11", "sockets only"},
		{"mode in decimal", "listen: {admin: {address: 'unix:/a', mode: 432}}\n", "1:44", "such as 0660"},
		{"mode without its owner", "listen: {admin: {address: 'unix:/a', mode: 0066}}\n", "1:44", "such as 0660"},
		{"mode as letters", "listen: {admin: {address: 'unix:/a', mode: rw-rw----}}\n", "1:44", "such as 0660"},
		{"mode with a sticky bit", "listen: {admin: {address: 'unix:/a', mode: 1660}}\n", "1:44", "such as 0660"},
		{"group with a space", "listen: {admin: {address: 'unix:/a', group: 'a b'}}\n", "1:45", "invalid group"},
		{"group like an option", "listen: {admin: {address: 'unix:/a', group: '-a'}}\n", "1:45", "invalid group"},
		{"few connections", "listen: {auth: [{address: 'unix:/a', connections: 1}]}\n", "1:51", "from 8 to"},
		{"relative socket", "listen: {auth: 'unix:a.sock'}\n", "1:16", "cannot listen"},
		{"socket with a long path", "listen: {auth: 'unix:/" + strings.Repeat("a", 120) + "'}\n", "1:16", "cannot listen"},
		{"log that emits nothing", "sensors: {accesslog: {file: a, emit: []}}\n", "1:32", "empty list"},
		{"log that emits nonsense", "sensors: {accesslog: {file: a, emit: refusal}}\n", "1:38", "request, response"},
		{"log that emits nonsense in a list", "sensors: {accesslog: {file: a, emit: [refusal]}}\n", "1:39", "request, response"},
		{"zone that is none", "sensors: {accesslog: {file: a, zone: Europe/Bonn}}\n", "1:38", "Europe/Berlin"},
		{"status that is none", "sensors: {accesslog: {file: a, refused_with: [99]}}\n", "1:47", "200 to 599"},
		{"UDP from anywhere", "sensors: {accesslog: {listen: 'udp:0.0.0.0:514'}}\n", "1:11", "set from"},
		{"UDP without a host", "sensors: {accesslog: {listen: 'udp::514'}}\n", "1:11", "set from"},
		{"UDP to a name", "sensors: {accesslog: {listen: 'udp:log.lan:514', from: []}}\n", "1:11", "set from"},
		{"UDP of loopback with senders", "sensors: {accesslog: {listen: 'udp:127.0.0.1:514', from: [127.0.0.1]}}\n", "1:11", "only this host"},
		{"senders of TCP", "sensors: {accesslog: {listen: 'tcp:127.0.0.1:514', from: [127.0.0.1]}}\n", "1:11", "apply to udp"},
		{"receive buffer of a file", "sensors: {accesslog: {file: a, receive_buffer: 1MiB}}\n", "1:11", "apply to udp"},
		{"small receive buffer", "sensors: {accesslog: {listen: 'udp:127.0.0.1:514', receive_buffer: 1KiB}}\n", "1:68", "at least 64KiB"},
		{"peers over loopback", "haproxy: {peers: {listen: '127.0.0.1:10001'}}\n", "1:27", "loopback is open to every user of this host; listen at unix:/var/lib/haproxy/edgeguard/peers.sock, or set tls"},
		{"peers over TCP with a user", "haproxy: {peers: {listen: '192.0.2.1:10001', user: haproxy}}\n", "1:52", "known of a unix socket alone"},
		{"peers over TCP with half of TLS", "haproxy: {peers: {listen: '192.0.2.1:10001', tls: {cert_file: /a, key_file: /b}}}\n", "1:46", "client_ca_file"},
		{"peers over a socket with TLS", "haproxy: {peers: {tls: {cert_file: /a, key_file: /b, client_ca_file: /c}}}\n", "1:19", "is a unix socket"},
		{"peers by UDP", "haproxy: {peers: {listen: 'udp:127.0.0.1:10001'}}\n", "1:27", "cannot listen"},
		{"a relative certificate", "haproxy: {peers: {listen: '192.0.2.1:1', tls: {cert_file: a, key_file: /b, client_ca_file: /c}}}\n", "1:59", "absolute path"},
		{"peers for nothing", "haproxy: {peers: {count: false, enforce: false}}\n", "1:11", "neither counts nor enforces"},
		{"peers of a bad user", "haproxy: {peers: {user: 'a b'}}\n", "1:25", "invalid user"},
		{"peers twice at one socket", "haproxy: {peers: [{}, {}]}\n", "1:23", "already in use"},
		{"UDP port", "sensors: {accesslog: {listen: 'udp:127.0.0.1'}}\n", "1:31", "udp:host:port"},
		{"admin by UDP", "listen: {admin: ['udp:127.0.0.1:9190']}\n", "1:18", "cannot listen"},
		{"log of a bad pattern", "sensors: {accesslog: [{file: '/a/[*'}]}\n", "1:30", "close each ["},
		{"log of folders", "sensors: {accesslog: [{file: '/a/**/b.log'}]}\n", "1:30", "write * for each folder"},
		{"log twice", "sensors: {accesslog: [{file: a}, {file: a}]}\n", "1:34", "already followed"},
		{"list without format", "enforce: {files: {file: /a}}\n", "1:11", "set format"},
		{"list without file", "enforce: {files: {format: plain}}\n", "1:11", "set file"},
		{"list in two", "enforce: {files: [{file: /a, format: plain}, {file: /a, format: nft}]}\n", "1:53", "another list"},
		{"list format", "enforce: {files: {file: /a, format: ngnix}}\n", "1:37", "did you mean \"nginx\"?"},
		{"list name", "enforce: {files: {file: /a, format: nft, name: 'a b'}}\n", "1:48", "invalid name"},
		{"reload with a shell in mind", "enforce: {files: {file: /a, format: nginx, reload: nginx -s reload}}\n", "1:52", "write [nginx, -s, reload]"},
		{"reload of nothing", "enforce: {files: {file: /a, format: nginx, reload: []}}\n", "1:44", "is empty"},
		{"reload too often", "enforce: {files: {file: /a, format: nginx, every: 1ms}}\n", "1:51", "at least 1s"},
		{"sets without a region", "enforce: {awswaf: {ipv4: {name: a, id: b1}}}\n", "1:11", "set region to that of the set's ARN"},
		{"no set", "enforce: {awswaf: {region: eu-central-1}}\n", "1:11", "has no IP set"},
		{"a set without an id", "enforce: {awswaf: {region: eu-central-1, ipv4: {name: a}}}\n", "1:42", "ends with ipset/NAME/ID"},
		{"one set for both", "enforce: {awswaf: {region: eu-central-1, ipv4: {name: a, id: b1}, ipv6: {name: a, id: b1}}}\n", "1:67", "make another"},
		{"sets of two entries", "enforce: {awswaf: [{region: eu-central-1, ipv4: {name: a, id: b1}}, {region: eu-central-1, ipv4: {name: a, id: b1}}]}\n", "1:69", "empty each other's"},
		{"CloudFront elsewhere", "enforce: {awswaf: {scope: CLOUDFRONT, region: eu-central-1, ipv4: {name: a, id: b1}}}\n", "1:47", "use us-east-1"},
		{"a profile of no file", "enforce: {awswaf: {region: eu-central-1, ipv4: {name: a, id: b1}, profile: x}}\n", "1:76", "set credentials_file"},
		{"more than a set holds", "enforce: {awswaf: {region: eu-central-1, ipv4: {name: a, id: b1}, most: 10001}}\n", "1:73", "from 1 to 10000"},
		{"a name for an ID", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: blocked, token_file: /t}}\n", "1:73", "which is not its name"},
		{"no token", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e}}\n", "1:11", "has no token_file"},
		{"too often for Cloudflare", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e, token_file: /t, every: 30s}}\n", "1:130", "at least 1m"},
		{"a secret in the clear", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e, token_file: /t, endpoint: 'http://proxy.lan/'}}\n", "1:133", "use https"},
		{"a secret in an address", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e, token_file: /t, endpoint: 'https://a:b@c/'}}\n", "1:133", "is not an address of an API"},
		{"a mark of words", "enforce: {cloudflare: {account: 023e105f4ecef8ad9ca31a8372d0c353, list: 2c0fc9fa937b11eaa1b71c4d701ab86e, token_file: /t, mark: 'our list'}}\n", "1:129", "invalid name"},
		{"haproxy without a list", "enforce: {haproxy: {socket: /a}}\n", "1:11", "exactly one of acl and map"},
		{"haproxy without a socket", "enforce: {haproxy: {acl: /a}}\n", "1:11", "set socket"},
		{"protected", "protected: [here]\n", "1:13", "invalid prefix"},
		{"enforcer of later", "enforce: {xdp: {}}\n", "1:11", "not supported in this version"},
		{"fleet without redis", "fleet: {namespace: a}\n", "1:1", "set redis"},
		{"redis of another scheme", "fleet: {redis: 'http://a'}\n", "1:16", "not a Redis address"},
		{"questions of HAProxy over loopback", "haproxy: {spoe: {listen: '127.0.0.1:10002'}}\n", "1:26", "any address blocked"},
		{"questions of HAProxy with half of TLS", "haproxy: {spoe: {listen: '127.0.0.1:10002', tls: {cert_file: /a}}}\n", "1:45", "requires cert_file"},
		{"Envoy without an address", "listen: {envoy: [{emit: nothing}]}\n", "1:18", "has no address"},
		{"Envoy with half of TLS", "listen: {envoy: [{address: '127.0.0.1:9182', tls: {key_file: /a}}]}\n", "1:46", "requires cert_file"},
		{"Envoy with TLS on a unix socket", "listen: {envoy: [{address: 'unix:/s', tls: {key_file: /a, cert_file: /b}}]}\n", "1:39", "is for TCP"},
		{"Envoy where forward auth is", "listen: {auth: ['127.0.0.1:9182'], envoy: ['127.0.0.1:9182']}\n", "1:44", "already in use"},
		{"few connections of Envoy", "listen: {envoy: [{address: 'unix:/s', connections: 1}]}\n", "1:52", "from 8"},
		{"two at the default socket", "haproxy: {spoe: [{}, {}]}\n", "1:22", "already in use"},
		{"redis with a password", "fleet: {redis: 'redis://a:b@c'}\n", "1:16", "password_file"},
		{"push too often", "fleet: {redis: 'redis://c', push: 1ms}\n", "1:35", "at least 50ms"},
		{"push too seldom", "fleet: {redis: 'redis://c', push: 1m}\n", "1:35", "at most 10s"},
		{"redis as a list of nothing", "fleet: {redis: []}\n", "1:1", "has no Redis address"},
		{"redis without a host", "fleet: {redis: 'redis:///0'}\n", "1:16", "has no host"},
		{"redis without slashes", "fleet: {redis: 'redis:a'}\n", "1:16", "not a Redis address"},
		{"redis with a port of 0", "fleet: {redis: 'redis://a:0'}\n", "1:16", "use 1 to 65535"},
		{"redis with a large port", "fleet: {redis: 'redis://a:65536'}\n", "1:16", "use 1 to 65535"},
		{"redis with a named database", "fleet: {redis: 'redis://a/shop'}\n", "1:16", "invalid database"},
		{"redis with options", "fleet: {redis: 'redis://a?read_timeout=1s'}\n", "1:16", "has options"},
		{"redis with a fragment", "fleet: {redis: 'redis://a#b'}\n", "1:16", "has options"},
		{"socket with two slashes", "fleet: {redis: 'unix://run/redis.sock'}\n", "1:16", "three slashes"},
		{"socket without a path", "fleet: {redis: 'unix:///'}\n", "1:16", "three slashes"},
		{"socket of a Cluster", "fleet: {redis: ['unix:///a']}\n", "1:17", "cannot be used for a Cluster"},
		{"database of a Cluster", "fleet: {redis: ['redis://a/1']}\n", "1:17", "has only database 0"},
		{"addresses of two schemes", "fleet: {redis: ['redis://a', 'rediss://b']}\n", "1:30", "one scheme"},
		{"addresses of two users", "fleet: {redis: ['redis://u@a', 'redis://v@b']}\n", "1:32", "one scheme, user"},
		{"address twice", "fleet: {redis: ['redis://a', 'redis://a']}\n", "1:30", "given twice"},
		{"a bad address among good ones", "fleet: {redis: ['redis://a', 'b']}\n", "1:30", "not a Redis address"},
		{"sentinel", "fleet: {redis: 'redis://a', sentinel: 'my master'}\n", "1:39", "such as mymaster"},
		{"namespace with a brace", "fleet: {redis: 'redis://a', namespace: '{a}'}\n", "1:40", "1 to 64 letters"},
		{"namespace with a space", "fleet: {redis: 'redis://a', namespace: 'a b'}\n", "1:40", "1 to 64 letters"},
		{"namespace with a star", "fleet: {redis: 'redis://a', namespace: 'a*'}\n", "1:40", "1 to 64 letters"},
		{"relative password_file", "fleet: {redis: 'redis://a', password_file: p}\n", "1:44", "absolute"},
		{"relative loader_file", "fleet: {redis: 'redis://a', loader_file: p}\n", "1:42", "absolute"},
		{"relative key_file", "fleet: {redis: 'redis://a', key_file: k}\n", "1:39", "absolute"},
		{"key_mode of another name", "fleet: {redis: 'redis://a', key_file: /k, key_mode: requires}\n", "1:53", "did you mean"},
		{"key_mode without a key", "fleet: {redis: 'redis://a', key_mode: require}\n", "1:39", "set key_file"},
		{"tls for an open address", "fleet: {redis: 'redis://a', tls: {ca_file: /a}}\n", "1:29", "use a rediss:// address"},
		{"certificate without key", "fleet: {redis: 'rediss://a', tls: {cert_file: /a}}\n", "1:30", "set both"},
		{"key without certificate", "fleet: {redis: 'rediss://a', tls: {key_file: /a}}\n", "1:30", "set both"},
		{"tls server_name", "fleet: {redis: 'rediss://a', tls: {server_name: 'a b'}}\n", "1:49", "such as redis.internal"},
		{"max_nodes", "fleet: {redis: 'redis://a', max_nodes: 0}\n", "1:40", "from 1 to 10000"},
		{"quiet", "fleet: {redis: 'redis://a', quiet: very}\n", "1:36", "true or false"},
		{"share of 0", "fleet: {redis: 'redis://a', share: 0}\n", "1:36", "above 0 and below 1"},
		{"share of 1", "fleet: {redis: 'redis://a', share: 1.0}\n", "1:36", "above 0 and below 1"},
		{"confirm_share of 0", "fleet: {redis: 'redis://a', confirm_share: 0}\n", "1:44", "above 0 with at most 6 places"},
		{"confirm_share over 1", "fleet: {redis: 'redis://a', confirm_share: 1.1}\n", "1:44", "or 1 to disable"},
		{"share with many places", "fleet: {redis: 'redis://a', share: 0.1234567}\n", "1:36", "6 places"},
		{"share as text", "fleet: {redis: 'redis://a', share: half}\n", "1:36", "a decimal"},
		{"partitions", "fleet: {redis: 'redis://a', partitions: 1025}\n", "1:41", "from 1 to 1024"},
		{"max_skew of nothing", "fleet: {redis: 'redis://a', max_skew: 0s}\n", "1:39", "at least 1ms"},
		{"max_skew beyond what is counted", "fleet: {redis: 'redis://a', max_skew: 6s}\n", "1:39", "at most 5s"},
		{"max_suspects", "fleet: {redis: 'redis://a', max_suspects: 10}\n", "1:43", "from 1000 to"},
		{"insecure as text", "fleet: {redis: 'redis://a', insecure: 'yes'}\n", "1:39", "true or false"},
		{"public address without TLS", "fleet: {redis: 'redis://198.51.100.7', password_file: /a}\n", "1:16", "without TLS; use rediss://"},
		{"public address without a password", "fleet: {redis: 'rediss://198.51.100.7'}\n", "1:16", "without a password"},
		{"public name without TLS", "fleet: {redis: 'redis://redis.example.com'}\n", "1:16", "insecure: true"},
		{"public IPv6 address", "fleet: {redis: 'redis://[2001:db8::1]:6379'}\n", "1:16", "public address"},
		{"a public address in a Cluster", "fleet: {redis: ['redis://10.0.0.1', 'redis://198.51.100.7']}\n", "1:37", "public address"},
		{"a name too long for a fleet", "node: " + strings.Repeat("a", 256) + "\nfleet: {redis: 'redis://a'}\n", "1:7", "at most 255 bytes"},

		{"rule is text", "rules: [a]\n", "1:9", "expected a mapping"},
		{"rule without threshold", "rules: [{name: a}]\n", "1:9", "threshold: is missing"},
		{"rule without name", "rules: [{threshold: 5}]\n", "1:9", "name: the rule has no name"},
		{"same name", "rules: [{name: a, threshold: 5}, {name: a, threshold: 5}]\n", "1:41", "rule 1 already has the name"},
		{"threshold 0", "rules: [{name: a, threshold: 0}]\n", "1:30", "at least 1"},
		{"negative threshold", "rules: [{name: a, threshold: -5}]\n", "1:30", "at least 1"},
		{"threshold in quotes", "rules: [{name: a, threshold: '5'}]\n", "1:30", "whole number"},
		{"threshold with a point", "rules: [{name: a, threshold: 5.5}]\n", "1:30", "whole number"},
		{"threshold like octal", "rules: [{name: a, threshold: 010}]\n", "1:30", "octal"},
		{"threshold in hex", "rules: [{name: a, threshold: 0x10}]\n", "1:30", "invalid number"},
		{"threshold with underscore", "rules: [{name: a, threshold: 2_000}]\n", "1:30", ""},
		{"threshold beyond limits", "rules: [{name: a, threshold: 70000}]\n", "1:30", "use at most 68983"},
		{"guard", rule("guard: 1.5"), "4:12", "invalid guard"},
		{"guard as text", rule("guard: most"), "4:12", "a decimal such as 0.95"},
		{"window without unit", rule("window: 300"), "4:13", "invalid duration"},
		{"window of odd seconds", rule("window: 90s"), "4:13", "whole minutes"},
		{"short window", rule("window: 10s"), "4:13", "at least 1m"},
		{"block_for", rule("block_for: 0s"), "4:16", "at least 1s"},
		{"candidate", rule("candidates: [7, x]"), "4:21", "whole number"},
		{"candidate twice", rule("candidates: [7, 7]"), "4:21", "given twice"},
		{"action", rule("action: ban"), "4:13", "use block, deny, shadow"},
		{"cost", rule("cost: 0"), "4:11", "from 1 to 65535"},
		{"cost as a mapping", rule("cost: {match: {}, cost: 1}"), "4:5", "whole number"},
		{"cost after the default", rule("cost: [{cost: 1}, {match: {path: /a}, cost: 2}]"), "4:23", "never reached"},
		{"charge without cost", rule("cost: [{match: {path: /a}}]"), "4:12", "has no cost"},
		{"charge with a bad path", rule("cost: [{match: {path: [/a, b]}, cost: 2}]"), "4:32", "slash"},
		{"match as a list", rule("match: [a]"), "4:5", "expected a mapping"},
		{"empty list", rule("match: {path: []}"), "4:13", "is an empty list"},
		{"null in a list", rule("match: {path: [~]}"), "4:20", "give it a value"},
		{"path", rule("match: {path: a.php}"), "4:19", "write /a.php"},
		{"not of a not", rule("match: {not: {not: {}}}"), "4:19", "unknown field"},
		{"key", rule("key: addres"), "4:10", `did you mean "address"?`},
		{"key bits", rule("key: {address: {v4: 33}}"), "4:25", "from 1 to 32"},
		{"key bits 0", rule("key: {address: {v4: 0}}"), "4:25", "from 1 to 32"},
		{"key attribute", rule("action: deny\n    key: {with: cookie}"), "5:17", "invalid attribute"},
		{"attributes block", rule("key: {with: [host]}"), "2:5", "set action: deny"},
		{"escalate downwards", rule("escalate: [1h, 30m]"), "4:20", "ascending"},
		{"escalate shorter than 30 days", rule("block_for: 30d\n    escalate: 1h30m"), "5:15", "1h30m is shorter than the 30d before it"},
		{"escalate shorter than block_for", rule("escalate: 5m"), "4:15", "ascending"},
		{"escalate nothing", rule("escalate: []"), "4:5", "1 to 16"},
		{"escalate of a deny", rule("escalate: 1h\n    action: deny"), "4:15", "can escalate"},
		{"while_over of a shadow", rule("while_over: true\n    action: shadow"), "4:17", "only rules that block"},
		{"while_over as text", rule("while_over: ja"), "4:17", "true or false"},
		{"when with an unknown name", rule("when: 'path == \"/\" and agnet == \"\"'"), "4:28", "unknown name agnet"},
		{"when without quotes", rule("when: status == 404 and len(path) + 1 > 3"), "4:39", "not supported"},
		{"when in escapes", rule("when: \"path == \\\"/\\\" and x == 1\""), "4:11", "unknown name x"},
		{"when over lines", rule("when: path == '/'\n      and x == 1"), "4:11", "unknown name x"},
		{"when is no condition", rule("when: path"), "4:11", "must be true or false"},
		{"scope", rule("scope: nodes"), "4:12", `did you mean "node"?`},
		{"count of the fleet", rule("count: {distinct: path}\n    scope: fleet"), "5:12", "set scope: node"},
		{"count of nothing", rule("count: {}"), "4:5", "does not say what to count"},
		{"count as a number", rule("count: 5"), "4:12", "expected a mapping"},
		{"count with a typing error", rule("count: {distinct: paths}"), "4:23", `did you mean "path"?`},
		{"count with an unknown field", rule("count: {distinkt: path}"), "4:13", `did you mean "distinct"?`},
		{"count with a bad scope", rule("count: {distinct: path}\n    scope: nodes"), "5:12", `did you mean "node"?`},
		{"count with a cost", rule("count: {distinct: path}\n    cost: 5"), "5:11", "use 1 to 4"},
		{"count over the most", rule("count: {distinct: path}\n    candidates: [5000]"), "5:18", "use at most 421"},
		{"on_fleet_loss", rule("on_fleet_loss: shut"), "4:20", "use local, open, closed"},
		{"on_fleet_loss of a node's rule", rule("on_fleet_loss: open\n    scope: node"), "4:20", "set scope: fleet"},
		{"closed shadow", rule("on_fleet_loss: closed\n    action: shadow"), "4:20", "set action: deny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := problems(t, c.text)
			if len(got) != 1 {
				t.Fatalf("want one problem, got %v", got)
			}
			p := got[0]
			if place := fmt.Sprintf("%d:%d", p.Line, p.Column); place != c.place || !strings.Contains(p.String(), c.says) {
				t.Errorf("got %v\nwant it at %s, saying %s", p, c.place, c.says)
			}
			if p.Fix == "" || p.File != "f" {
				t.Errorf("incomplete: %+v", p)
			}
		})
	}
}

// TestBounds passes the parser what would cost it too much. Each must be
// refused, and quickly: the parser alone takes minutes for some of them.
func TestBounds(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"brackets", strings.Repeat("[", 100_000), "is nested too deeply"},
		{"braces", strings.Repeat("{a: ", 40_000), "is nested too deeply"},
		{"dashes", strings.Repeat("- ", 100_000), "is nested too deeply"},
		{"question marks", strings.Repeat("? ", 100_000), "is nested too deeply"},
		{"tags", strings.Repeat("!!t ", 50_000), "is nested too deeply"},
		{"anchors", strings.Repeat("&x ", 50_000), "is nested too deeply"},
		{"fields", strings.Repeat("k: v\n", 40_000), "too many values"},
		{"size", strings.Repeat("a", 2<<20), "larger than"},
		{
			"aliases",
			"allowlist: &a [" + strings.Repeat("192.0.2.1, ", 20_000) + "]\n" +
				"trusted_proxies: *a\nlisten: {auth: *a}\nrules:\n" + strings.Repeat("  - {match: {path: *a}}\n", 300),
			"expands to too many values",
		},
		{"alias of itself", "node: &a *a\n", ""},
		{"list of itself", "allowlist: &a [*a]\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			got := problems(t, c.text)
			if len(got) == 0 || !strings.Contains((&config.Errors{Problems: got}).Error(), c.says) && !anySays(got, c.says) {
				t.Errorf("want %q, got %d problems", c.says, len(got))
			}
			t.Log(time.Since(start))
		})
	}
}

func anySays(problems []yaml.Fault, text string) bool {
	for _, p := range problems {
		if strings.Contains(p.String(), text) {
			return true
		}
	}
	return false
}

func TestErrorsAreCut(t *testing.T) {
	all := &config.Errors{Problems: problems(t, "allowlist: ["+strings.Repeat("x, ", 150)+"x]\n")}
	lines := strings.Split(all.Error(), "\n")
	if len(all.Problems) != 151 || len(lines) != 101 || lines[100] != "and 51 more" {
		t.Errorf("%d problems, %d lines, the last %q", len(all.Problems), len(lines), lines[len(lines)-1])
	}
}

// TestLowWarnings holds when a rule is said to refuse an address for one page with its
// images.
func TestLowWarnings(t *testing.T) {
	for fields, want := range map[string]bool{
		"threshold: 2":                                    true,
		"threshold: 19, action: deny":                     true,
		"threshold: 20":                                   false,
		"threshold: 5, action: shadow":                    false,
		"threshold: 5, match: {path: [/login]}":           false,
		"threshold: 5, match: {kind: auth_failure}":       false,
		"threshold: 5, key: {with: [path]}, action: deny": false,
		"threshold: 5, count: {distinct: host}":           false,
		"threshold: 5, match: {not: {path: [/a/**]}}":     false,
		"threshold: 5, when: 'path startsWith \"/a\"'":    false,
	} {
		c, err := config.Parse("c", []byte("rules:\n  - {name: r, "+fields+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(c.Warnings, func(w yaml.Fault) bool {
			return strings.Contains(w.String(), "c:2:5: rules[0]: threshold") && strings.Contains(w.String(), "one page")
		})
		if got != want {
			t.Errorf("%s: %v", fields, c.Warnings)
		}
	}
}

// TestSparesAllWarnings holds which lists are asked about: those that leave nobody to block.
func TestSparesAllWarnings(t *testing.T) {
	for prefixes, want := range map[string]string{
		"[0.0.0.0/0]":                          "[0]",
		"0.0.0.0/0":                            "[0]",
		"[192.0.2.0/24, '::/0', 64.0.0.0/7]":   "[1] [2]",
		"['2000::/3', '2a00::/15']":            "[0] [1]",
		"[10.0.0.0/8, 'fc00::/7', 'ff00::/8']": "none",
		"['2a00::/16', 203.0.113.0/24]":        "none",
	} {
		for _, key := range []string{"allowlist", "protected"} {
			c, err := config.Parse("c", []byte(key+": "+prefixes+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			for _, w := range c.Warnings {
				if at, of := strings.CutPrefix(w.Path, key); of && strings.Contains(w.Text, "nobody of it is ever blocked") && strings.Contains(w.Fix, "mode: monitor") {
					got = strings.TrimPrefix(got, "none") + " " + at
				}
			}
			if got = strings.TrimSpace(got); got != want {
				t.Errorf("%s: %s: %q, want %q: %v", key, prefixes, got, want, c.Warnings)
			}
		}
	}
}

// TestBriefWarnings holds when a rule is said to block for too short a time.
func TestBriefWarnings(t *testing.T) {
	for fields, want := range map[string]bool{
		"block_for: 1m":                   true,
		"block_for: 5m":                   false,
		"window: 1h":                      true, // by default, 10m
		"block_for: 1m, while_over: true": false,
		"block_for: 1m, action: deny":     false,
	} {
		c, err := config.Parse("c", []byte("rules:\n  - {name: r, threshold: 30, "+fields+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(c.Warnings) == 1 && strings.Contains(c.Warnings[0].String(), "shorter than the window") && strings.Contains(c.Warnings[0].String(), "c:2"); got != want || !want && len(c.Warnings) > 0 {
			t.Errorf("%s: %v", fields, c.Warnings)
		}
	}
}

// TestUnsharedWarnings holds when a rule is said to report each address to the fleet.
func TestUnsharedWarnings(t *testing.T) {
	const r = "threshold: 40, guard: 1"
	for _, row := range []struct {
		fleet, rule, want string
	}{
		{"max_nodes: 20", r, "share 0.5 × limit 40 / max_nodes 20 = 1 requests on"},
		{"max_nodes: 19", r, ""},
		{"max_nodes: 40", r, "= 0.5 requests on; set max_nodes to the number of nodes, at most 19;"},
		{"share: 0.25", r, "share 0.25 × limit 40 / max_nodes 10 = 1 requests on"},
		{"quiet: true", "threshold: 20, guard: 1", "limit 20 / max_nodes 10 = 1 requests on"},
		{"max_nodes: 40, quiet: false", r, ""},
		{"max_nodes: 40", r + ", scope: node", ""},
		{"max_nodes: 40", r + ", match: {path: /login}", ""},
		{"max_nodes: 40", r + `, when: 'path == "/login"'`, ""},
		{"max_nodes: 40", r + ", match: {not: {path: /static}}", ""},
	} {
		c, err := config.Parse("c", []byte("fleet: {redis: \"redis://127.0.0.1\", "+row.fleet+"}\nrules:\n  - {name: r, block_for: 1h, "+row.rule+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, w := range c.Warnings {
			got += w.String()
		}
		if row.want == "" && got != "" || !strings.Contains(got, row.want) || row.want != "" && !strings.Contains(got, "c:3") {
			t.Errorf("%s, %s: %q, want %q", row.fleet, row.rule, got, row.want)
		}
	}
}

// TestUnsuppliedWarnings holds when a rule is said to count nothing.
func TestUnsuppliedWarnings(t *testing.T) {
	const combined, other = "accesslog: {file: a, format: combined}", "accesslog: {file: a, format: auto}"
	for _, c := range []struct{ name, sensors, match, want string }{
		{"status of a log", combined, "{status: 404}", ""},
		{"host of answers in a combined log", combined, "{status: 404, host: a.org}", "reports host"},
		{"host of answers in another log", other, "{status: 404, host: a.org}", ""},
		{"host of requests, from forward auth", combined + "}\nlisten: {auth: '127.0.0.1:1'", "{host: a.org}", ""},
		{"host of requests, which the log counts", combined, "{host: a.org}", "reports host"},
		{"status of a log of requests", combined[:len(combined)-1] + ", emit: request}", "{status: 404}", "reports response"},
		{"status without a log", "}\nlisten: {auth: '127.0.0.1:1'", "{status: 404}", "reports response"},
		{"what only looks up", "}\nlisten: {auth: {address: '127.0.0.1:1', emit: nothing}", "{path: /a}", "reports request"},
		{"failed logins of an access log", combined, "{kind: auth_failure}", "reports auth_failure"},
		{"failed logins of sshd", "accesslog: {file: a, format: sshd}", "{kind: auth_failure}", ""},
		{"requests, which sshd's log leaves to forward auth", "accesslog: {file: a, format: sshd}", "{kind: request}", ""},
		{"requests of sshd's log", "accesslog: {file: a, format: sshd}}\nlisten: {auth: {address: '127.0.0.1:1', emit: nothing}", "{kind: request}", "reports request"},
		{"syn without packets", combined, "{kind: syn}", "no configured sensor reports syn"},
		{"syn with packets", "packet: {interface: a, kinds: syn}", "{kind: syn, port: 80}", ""},
		{"packets of all kinds", "packet: {interface: a}", "{kind: packet}", "no configured sensor reports packet"},
		{"status of packets", "packet: {interface: a, kinds: [syn, udp]}", "{status: 404}", "reports response"},
		{"host of a load balancer's log", "accesslog: {file: a, format: alb}", "{status: 404, host: a.org}", ""},
		{"port of Squid's log", "accesslog: {file: a, format: squid}", "{status: 404, port: 80}", "reports port"},
		{"host of a combined log in docker's envelopes", "accesslog: {file: a, format: 'docker:combined'}", "{status: 404, host: a.org}", "reports host"},
		{"port of requests", combined, "{port: 80}", "reports port"},
		{"requests and answers of HAProxy", "}\nhaproxy: {peers: {}", "{status: 404, host: a.org, path: /a}", ""},
		{"agent of HAProxy", "}\nhaproxy: {peers: {}", "{path: /a}, when: 'agent == \"\"'", "HAProxy's tables cannot count it, because"},
		{"agent of HAProxy, and of a log", other + "}\nhaproxy: {peers: {}", "{path: /a}, when: 'agent == \"\"'", ""},
		{"agent of HAProxy, and of a log that has none", "accesslog: {file: a, format: common}}\nhaproxy: {peers: {}", "{path: /a}, when: 'agent == \"\"'", "no configured sensor of request events reports agent"},
		{"agent of a log of HAProxy", "accesslog: {file: a, format: haproxy}}\nhaproxy: {peers: {count: false}", "{path: /a, host: a.org}, when: 'agent == \"\"'", ""},
		{"agent of a HAProxy that asks", "}\nhaproxy: {spoe: {}}\nlisten: {auth: []", "{path: /a}, when: 'agent == \"\"'", ""},
		{"agent of an Envoy", "}\nlisten: {auth: [], envoy: ['unix:/s']", "{path: /a}, when: 'agent == \"\"'", ""},
		{"answers of a HAProxy that asks", "}\nhaproxy: {spoe: {}}\nlisten: {auth: []", "{status: 404}", "reports response"},
		{"requests of a HAProxy that only looks up", "}\nhaproxy: {spoe: {count: false}}\nlisten: {auth: []", "{path: /a}", "reports request"},
		{"requests of a HAProxy that is only taught", "}\nhaproxy: {peers: {count: false}}\nlisten: {auth: []", "{path: /a}", "reports request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parsed, err := config.Parse("f", []byte("rules: [{name: a, threshold: 50, match: "+c.match+"}]\nsensors: {"+c.sensors+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range parsed.Warnings {
				if w.Path == "rules[0]" {
					got = append(got, w.String())
				}
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("warnings %v, want %q", got, c.want)
			}
		})
	}
}

// TestDenyWithPeers: HAProxy is taught whom to refuse, and not what.
func TestDenyWithPeers(t *testing.T) {
	const deny = "rules: [{name: a, threshold: 5, match: {path: /a}, action: deny}]\n"
	for text, want := range map[string]int{
		"haproxy: {peers: {}}\n": 1, "haproxy: {peers: {enforce: false}}\n": 0, "": 0,
		"haproxy: {peers: {}, spoe: {count: false}}\n":                                    0,
		"haproxy: {peers: {}}\nlisten: {auth: {address: '127.0.0.1:1', emit: nothing}}\n": 0,
	} {
		c, err := config.Parse("f", []byte(deny+text))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Warnings) != want || want == 1 && !strings.Contains(c.Warnings[0].String(), "set action: block") {
			t.Errorf("%q: %v", text, c.Warnings)
		}
	}
}

func TestNoRulesWarns(t *testing.T) {
	c, err := config.Parse("f", []byte("rules: []\n"))
	if err != nil || len(c.Rules.Rules) != 0 || len(c.Warnings) != 1 || c.Warnings[0].Line != 1 {
		t.Errorf("%v, %+v", err, c)
	}
}

// TestCountedTwiceWarns holds when two sources are said to count the same.
func TestCountedTwiceWarns(t *testing.T) {
	const auth, look, log = "listen: {auth: '127.0.0.1:1'}\n", "listen: {auth: {address: '127.0.0.1:1', emit: nothing}}\n", "sensors: {accesslog: {file: a%s}}\n"
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"auth and a log", auth + fmt.Sprintf(log, ""), 1},
		{"auth and a log of answers", auth + fmt.Sprintf(log, ", emit: response"), 0},
		{"auth that looks up, and a log", look + fmt.Sprintf(log, ""), 0},
		{"auth by default, and a log", fmt.Sprintf(log, ""), 0},
		{"auth", auth, 0},
		{"two logs", "sensors: {accesslog: [{file: a}, {file: b}]}\n", 0},
		{"HAProxy and a log", "haproxy: {peers: {}}\nsensors: {accesslog: {file: a}}\n", 1},
		{"HAProxy and a log of answers", "haproxy: {peers: {}}\nsensors: {accesslog: {file: a, emit: response}}\nrules: [{name: r, threshold: 9, match: {status: 404}}]\n", 1},
		{"HAProxy and a log of answers, of which HAProxy counts none", "haproxy: {peers: {}}\nsensors: {accesslog: {file: a, emit: response}}\nrules: [{name: r, threshold: 9}]\n", 0},
		{"HAProxy and auth", "haproxy: {peers: {}}\n" + auth, 1},
		{"HAProxy, and auth by default", "haproxy: {peers: {}}\n", 0},
		{"HAProxy that is only taught, and a log", "haproxy: {peers: {count: false}}\nsensors: {accesslog: {file: a}}\n", 0},
		{"HAProxy that asks, and a log", "haproxy: {spoe: {}}\nsensors: {accesslog: {file: a}}\n", 1},
		{"HAProxy that asks, and auth", "haproxy: {spoe: {}}\n" + auth, 1},
		{"HAProxy that asks and counts", "haproxy: {spoe: {}, peers: {}}\n", 1},
		{"Envoy that asks, and a log", "listen: {envoy: ['unix:/s']}\nsensors: {accesslog: {file: a}}\n", 1},
		{"Envoy that asks, and auth", "listen: {envoy: ['unix:/s'], auth: ['unix:/t']}\n", 1},
		{"Envoy that asks, and auth that looks up", "listen: {envoy: ['unix:/s'], auth: [{address: 'unix:/t', emit: nothing}]}\n", 0},
		{"Envoy that only looks up, and auth", "listen: {envoy: [{address: 'unix:/s', emit: nothing}], auth: ['unix:/t']}\n", 0},
		{"Envoy that asks, and auth by default", "listen: {envoy: ['unix:/s']}\n", 0},
		{"HAProxy that asks, and auth by default", "haproxy: {spoe: {}}\n", 0},
		{"HAProxy that only looks up, and a log", "haproxy: {spoe: {count: false}}\nsensors: {accesslog: {file: a}}\n", 0},
		{"a log and packets", "sensors: {accesslog: {file: a}, packet: {interface: a}}\n", 0},
	} {
		parsed, err := config.Parse("f", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, w := range parsed.Warnings {
			if config.CountsTwice(&w) {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %v", c.name, parsed.Warnings)
		}
	}
}

// TestFollow: a log of the command line counts, and so forward auth does not.
func TestFollow(t *testing.T) {
	c := config.Default()
	if c.Listen.Auth[0].Emit == 0 {
		t.Error("alone, forward auth counts nothing")
	}
	c.Follow("/var/log/a.log", "combined")
	if len(c.Sensors.AccessLog) != 1 || c.Listen.Auth[0].Emit != 0 {
		t.Errorf("%+v", c)
	}
}

// TestPrivateRedis: what stays on the host or in a network of one's own needs
// neither TLS nor a password, and neither does what is said to be meant.
func TestPrivateRedis(t *testing.T) {
	for _, rest := range []string{
		"'redis://127.0.0.1'", "'redis://[::1]:6379/2'", "'redis://localhost'", "'redis://10.1.2.3'", "'redis://192.168.0.1'",
		"'redis://[fd00::1]'", "'redis://169.254.1.1'", "'redis://100.64.0.9'", "'redis://redis'", "'redis://u@redis.internal.'",
		"'redis://Redis.Default.SVC'", "'unix:///run/redis.sock'", "'unix://u@/run/redis.sock?db=1'",
		"'redis://198.51.100.7', insecure: true", "'rediss://198.51.100.7', password_file: /a",
		"'rediss://198.51.100.7', tls: {cert_file: /a, key_file: /b}",
		"'redis://redis', confirm_share: 1", "'redis://redis', confirm_share: 0.000001",
	} {
		c, err := config.Parse("f", []byte("fleet: {redis: "+rest+"}\n"))
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%s: %v", rest, err)
			continue
		}
		readBack(t, c)
	}
}

func TestFleetDefaults(t *testing.T) {
	c, err := config.Parse("f", []byte("fleet: {redis: 'redis://localhost'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Fleet{
		Redis: []string{"redis://localhost"}, Namespace: "edgeguard", Push: 500 * time.Millisecond, MaxNodes: 10, Quiet: true,
		Share: 0.5, ConfirmShare: 0.2, Partitions: 16, MaxSkew: 100 * time.Millisecond, MaxSuspects: 200_000,
	}
	if diff := cmp.Diff(&want, c.Fleet); diff != "" {
		t.Error(diff)
	}
	list, err := config.Parse("f", []byte("fleet: {redis: ['redis://localhost']}\n"))
	if err != nil || !list.Fleet.Cluster {
		t.Errorf("a list of one is no Cluster: %v", err)
	}
	sentinels, err := config.Parse("f", []byte("fleet: {redis: ['redis://a', 'redis://b'], sentinel: main}\n"))
	if err != nil || sentinels.Fleet.Cluster || len(sentinels.Fleet.Redis) != 2 {
		t.Errorf("Sentinels are a Cluster: %v", err)
	}
}

// TestUnasked: a rule that denies says so where it only reports, with what to do.
func TestUnasked(t *testing.T) {
	const list, auth, log = "enforce: {files: [{file: /tmp/x, format: nginx}]}\n", "listen: {auth: {address: '127.0.0.1:1'}}\n", "sensors: {accesslog: {file: /tmp/a}}\n"
	for _, c := range []struct{ rule, rest, want, fix string }{
		{"match: {path: /a, status: 401}", list + log, "only reports: it denies the requests that match", "listen.auth, listen.envoy"},
		{"match: {path: /a, status: 401}", log, "", ""}, // by the listener that every node has
		{"match: {path: /a, status: 401}", log + "listen: {auth: []}\n", "only reports", "set action: block"},
		{"match: {path: /a, status: 401}", list + log + auth, "", ""},
		{"match: {path: /a, status: 401}", list + log + "haproxy: {spoe: {}}\n", "", ""},
		{"match: {path: /a, status: 401}", list + log + "listen: {envoy: {address: '127.0.0.1:1'}}\n", "", ""},
		{"when: status == 401", log + auth, "when reads the status", "move the status to match"},
		{"match: {status: 401}, key: {with: [node]}", "sensors: {accesslog: {file: /tmp/a, format: json}}\n" + auth, "no proxy that asks about a request reports node", "leave that out"},
		{"key: {address: none}, everybody: true", log + auth, "", ""},
		{"key: {address: none}, everybody: true", log + "listen: {auth: {address: '127.0.0.1:1', emit: nothing}}\n", "its key has no address", "emit: nothing"},
		{"key: {address: none}, everybody: true", log + "listen: {auth: []}\n", "no listener says that a proxy asks", "set action: shadow"},
		{"match: {kind: auth_failure}", "sensors: {accesslog: {file: /tmp/a, format: sshd}}\n" + auth, "no proxy asks about auth_failure events", "set action: block"},
	} {
		parsed, err := config.Parse("f", []byte("rules: [{name: a, threshold: 50, action: deny, "+c.rule+"}]\n"+c.rest))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range parsed.Warnings {
			if strings.Contains(w.String(), "only report") {
				got = append(got, w.String())
			}
		}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want) || !strings.Contains(got[0], c.fix)) {
			t.Errorf("%s with %q: %q", c.rule, c.rest, got)
		}
	}
}
