package accesslog_test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"edgeguard/sensor/accesslog"
)

// A log is opened, its format found, and its events read batch by batch.
func ExampleOpen() {
	log := `192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "GET /robots.txt HTTP/1.1" 200 187 "-" "Agent/1.0"
2001:db8::7 - - [20/Feb/2016:00:00:46 -0500] "POST /login HTTP/1.1" 403 20 "-" "-"
this is no line of a log
`
	r, err := accesslog.Open("-", nil, accesslog.Options{Stdin: strings.NewReader(log), Window: 5 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println("format:", r.Format())
	for {
		events, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, ev := range events {
			fmt.Println(ev.Time.Format(time.TimeOnly), ev.Addr, ev.Method, ev.Path, ev.Status)
		}
	}
	fmt.Println("skipped:", r.Stats().First[0])
	// Output:
	// format: combined
	// 05:00:45 192.0.2.1 GET /robots.txt 200
	// 05:00:46 2001:db8::7 POST /login 403
	// skipped: standard input:3: no address where the format has one: this is no line of a log
}
