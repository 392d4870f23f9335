package accesslog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"edgeguard"
)

// combinedLog makes n lines of the combined format, ten a second.
func combinedLog(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `203.0.%d.%d - - [20/Feb/2016:00:%02d:%02d -0500] "GET /2015/08/10/a-page-of-the-site-%d/ HTTP/1.1" 200 24810 "https://www.example.org/" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36"`+"\n",
			i%7, i%250, i/600%60, i/10%60, i%1000)
	}
	return b.Bytes()
}

// BenchmarkLines is the floor: finding the ends of the same lines.
func BenchmarkLines(b *testing.B) {
	log := combinedLog(1500)
	b.SetBytes(int64(len(log) / 1500))
	for n := 0; n < b.N; n += 1500 {
		for rest := log; len(rest) > 0; {
			rest = rest[bytes.IndexByte(rest, '\n')+1:]
		}
	}
}

// BenchmarkReader reads a whole log through the pipeline.
func BenchmarkReader(b *testing.B) {
	const lines = 200_000
	log := combinedLog(lines)
	b.SetBytes(int64(len(log) / lines))
	for n := 0; n < b.N; n += lines {
		r, err := Open("-", nil, Options{Stdin: bytes.NewReader(log)})
		if err != nil {
			b.Fatal(err)
		}
		var batch []edgeguard.Event
		for err == nil {
			batch, err = r.Next()
			_ = batch
		}
		if err != io.EOF || r.Stats().Events != lines {
			b.Fatal(err, r.Stats())
		}
		r.Close()
	}
}

// BenchmarkFollow catches up with a whole log: reading, parsing, and the
// position after each batch.
func BenchmarkFollow(b *testing.B) {
	const lines = 200_000
	log := combinedLog(lines)
	path := write(b, log)
	b.SetBytes(int64(len(log) / lines))
	for n := 0; n < b.N; n += lines {
		ctx, cancel := context.WithCancel(b.Context())
		events := 0
		f, err := NewFollower(FollowConfig{File: path, Beginning: true, Live: Live{Format: format("combined"), Now: time.Now, Decide: func(_ time.Time, batch []edgeguard.Event) {
			if events += len(batch); events == lines {
				cancel()
			}
		}}})
		if err != nil {
			b.Fatal(err)
		}
		f.Run(ctx)
	}
}
