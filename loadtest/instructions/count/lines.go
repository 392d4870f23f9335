package count

import (
	"bytes"
	"fmt"
	"time"

	"edgeguard/logline"
)

// logLines are what a line of an access log costs until it is an event: the same requests, as servers write them.
func logLines() []Operation {
	const (
		request = `"GET /2015/08/10/a-page-of-the-site-%d/ HTTP/1.1"`
		rest    = ` 200 24810 "https://www.example.org/" "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"`
		at      = "20/Feb/2016:00:00:%02d"
		line    = "203.0.113.%d - - [" + at + " -0500] " + request + rest
	)
	return []Operation{
		parse("combined", "a line of an access log, format combined", "combined", line),
		parse("syslog", "the same behind a header of syslog", "combined", "Feb 20 00:00:00 web-1 nginx: "+line),
		parse("json", "the same request as JSON", "json", `{"remote_addr":"203.0.113.%d","time_iso8601":"2016-02-20T00:00:%02d-05:00","request":"GET /2015/08/10/a-page-of-the-site-%d/ HTTP/1.1",`+
			`"status":200,"body_bytes_sent":24810,"http_referer":"https://www.example.org/","http_user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"}`),
		parse("haproxy", "the same request in HAProxy's httplog", "haproxy", "<134>Feb 20 00:00:00 lb-1 haproxy[760]: 203.0.113.%d:58444 ["+at+".439] main app/app1 9/0/1/0/10 200 24810 - - ---- 3/3/0/0/0 0/0 "+request),
	}
}

// parse reads chunks of lines with the address, the second and the page of a line.
func parse(name, does, format, line string) Operation {
	const inChunk = 64
	return Operation{"Parse/" + name, does, 1 << 9, inChunk, func() step {
		f, err := logline.ParseFormat(format)
		if err != nil {
			panic(err)
		}
		var text bytes.Buffer
		for i := range inChunk {
			fmt.Fprintf(&text, line+"\n", i, i%60, i)
		}
		p, c := f.Parser("", time.UTC), logline.Chunk{Text: bytes.Clone(text.Bytes())}
		return func(_ int, call bool) {
			if copy(c.Text, text.Bytes()); !call { // parsing changes it
				return
			}
			if p.Parse(&c); len(c.Events) != inChunk {
				panic(fmt.Sprint(len(c.Events), c.Shown))
			}
		}
	}}
}
