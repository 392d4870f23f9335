package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"edgeguard/admin/client"
)

// streaming is a client of a server that answers each call with the next of these
// streams, and what it was asked for.
func streaming(t *testing.T, streams ...string) (node *client.Client, asked *[]string) {
	t.Helper()
	asked = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RawQuery)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, streams[0])
		streams = streams[1:]
	}))
	t.Cleanup(server.Close)
	node, err := client.New(client.Config{Address: strings.TrimPrefix(server.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node, asked
}

// A stream goes on from the last ID, also from that of a stream without an event.
func TestEventsGoOn(t *testing.T) {
	node, asked := streaming(t,
		"id: a-4\nretry: 2000\n\n",
		"id: a-4\nretry: 2000\n\n: alive\n\nid: a-5\nevent: alarm\ndata: {\"id\":\"a-5\",\"kind\":\"alarm\",\"name\":\"log\"}\n\n",
		"event: gap\ndata: {\"kind\":\"gap\",\"text\":\"lost\"}\n\nid: b-1\nretry: 2000\n\n")
	var seen []string
	after := "oldest"
	for range 3 {
		for event, err := range node.Events(t.Context(), "alarm,block", &after) {
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
			seen = append(seen, event.Kind+event.Name)
		}
	}
	if got, want := fmt.Sprintf("%v %s %v", seen, after, *asked), "[alarmlog gap] b-1 [after=oldest&kind=alarm%2Cblock after=a-4&kind=alarm%2Cblock after=a-5&kind=alarm%2Cblock]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A stream of another program ends with an error and takes no memory without bound.
func TestEventsOfAStranger(t *testing.T) {
	for _, stream := range []string{"data: hello\n\n", "data: " + strings.Repeat("x", 2<<20)} {
		node, _ := streaming(t, stream)
		after := ""
		for event, err := range node.Events(t.Context(), "", &after) {
			if err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%.20q: %v, %v", stream, event, err)
			}
		}
	}
}
