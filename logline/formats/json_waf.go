package formats

import (
	"bytes"

	"edgeguard"
	"edgeguard/logline/scan"
)

// headers takes the host and the agent from a list of headers,
// [{"name":"Host","value":"example.org"},…]. Of two of one name the first counts.
func (p *jsonParser) headers(list []byte) {
	if list[0] != '[' {
		return
	}
	for i := scan.JSONBlank(list, 1); i < len(list) && list[i] == '{'; {
		p.rank[jsonHeaderName], p.rank[jsonHeaderValue] = 0, 0
		n := p.object(list[i:], jsonHeader)
		if n < 0 {
			return
		}
		if p.rank[jsonHeaderName] != 0 && p.rank[jsonHeaderValue] != 0 {
			p.header(p.headName, p.headVal)
		}
		if i = scan.JSONBlank(list, i+n); i < len(list) && list[i] == ',' {
			i = scan.JSONBlank(list, i+1)
		}
	}
}

func (p *jsonParser) header(name, value []byte) {
	switch {
	case bytes.EqualFold(name, []byte("user-agent")):
		p.take(jsonMeaning{scan.PartAgent, 1}, value)
	case bytes.EqualFold(name, []byte("referer")):
		p.take(jsonMeaning{scan.PartReferer, 1}, value)
	case bytes.EqualFold(name, []byte("sec-fetch-site")):
		p.take(jsonMeaning{scan.PartFetchSite, 1}, value)
	case bytes.EqualFold(name, []byte("host")), bytes.EqualFold(name, []byte(":authority")):
		p.take(jsonMeaning{scan.PartHost, 1}, value)
	}
}

// addArgs adds the query to the path. In a line it directly follows the path, so
// that the path is moved to it, over what separates them and was read.
func (p *jsonParser) addArgs(args []byte) {
	if len(args) == 0 || p.f.Known&edgeguard.FieldPath == 0 {
		return
	}
	path := p.path
	gap := cap(path) - len(path) - cap(args)
	if !p.whole || gap < 1 || gap > len(`" , "args" : "`) {
		joined := append(append(make([]byte, 0, len(path)+1+len(args)), path...), '?')
		p.f.SetPath(append(joined, args...))
		return
	}
	path = path[:len(path)+gap+len(args)]
	copy(path[gap-1:], p.path)
	path[gap-1+len(p.path)] = '?'
	p.f.SetPath(path[gap-1:])
}
