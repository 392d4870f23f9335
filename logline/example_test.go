package logline_test

import (
	"fmt"

	"edgeguard/logline"
)

func ExampleParser() {
	format, err := logline.ParseFormat("combined")
	if err != nil {
		fmt.Println(err)
		return
	}
	lines := format.Parser("access.log", nil)
	chunk := logline.Chunk{Text: []byte(`192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "GET /robots.txt HTTP/1.1" 200 187 "-" "Agent/1.0"
this is not a line of a log
`)}
	lines.Parse(&chunk)
	for _, ev := range chunk.Events {
		fmt.Println(ev.Time.UTC().Format("15:04:05"), ev.Addr, ev.Method, ev.Path, ev.Status)
	}
	fmt.Println("skipped:", chunk.Shown[0])
	// Output:
	// 05:00:45 192.0.2.1 GET /robots.txt 200
	// skipped: access.log:2: no address where the format has one: this is not a line of a log
}

// A format of one's own is nginx's log_format, as it stands in its config.
func ExampleParseFormat() {
	_, err := logline.ParseFormat(`$http_x_forwarded_for [$time_local] "$request"`)
	fmt.Println(err != nil) // a client writes that header
	f, err := logline.ParseFormat(`log_format main '$remote_addr [$time_local] "$request"';`)
	fmt.Println(f != nil, err)
	// Output:
	// true
	// true <nil>
}
