package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// bound is how long nginx waits for an answer, by the snippet.
const bound = 100 * time.Millisecond

// settle is how long a flood runs before it is measured.
const settle = 500 * time.Millisecond

// ask puts the questions, and has the blocked client ask during that time.
func (o *options) ask(ctx context.Context, e *edge) (late int, longest time.Duration, passed int) {
	time.Sleep(settle)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range o.requests {
			if status(e.nginx) == http.StatusOK {
				passed++
			}
			select {
			case <-ended:
			case <-time.After(time.Duration(o.questions) * o.pause / time.Duration(o.requests)):
			}
		}
	})
	for range o.questions {
		if ctx.Err() != nil {
			break
		}
		took := question(e.auth)
		longest = max(longest, took)
		if took > bound {
			late++
		}
		time.Sleep(o.pause)
	}
	close(ended)
	wg.Wait()
	return late, longest, passed
}

// question puts one to forward auth, over a new connection, and returns how long it took.
func question(at string) time.Duration {
	begun := time.Now()
	_, _ = exchange(at, "GET /auth/nginx HTTP/1.1\r\nHost: site\r\nX-Real-IP: 198.51.100.9\r\nConnection: close\r\n\r\n")
	return time.Since(begun)
}

// status returns that of nginx's answer to the blocked client; 0 for none.
func status(at string) int {
	code, _ := exchange(at, "GET / HTTP/1.1\r\nHost: site\r\nX-Client: "+blocked+"\r\nConnection: close\r\n\r\n")
	return code
}

func exchange(at, request string) (status int, err error) {
	c, err := net.DialTimeout("tcp", at, 2*time.Second)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprint(c, request); err != nil {
		return 0, err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	return r.StatusCode, r.Body.Close()
}
