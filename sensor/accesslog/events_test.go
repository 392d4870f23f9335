package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline"
)

func TestInletStamps(t *testing.T) {
	now := time.Date(2016, 2, 20, 0, 0, 45, 5e8, time.UTC)
	line := func(at time.Time, n int) string {
		return fmt.Sprintf(`{"ts":%d,"remote_addr":"192.0.2.1","uri":"/%d","status":200}`+"\n", at.Unix(), n)
	}
	in := newInlet(&Live{Now: func() time.Time { return now }, Late: time.Minute, Local: func(t time.Time) time.Time { return t.Add(-time.Hour) }}, "x")
	text := ""
	for i, d := range []time.Duration{0, -59 * time.Second, -61 * time.Second, time.Second, 10 * time.Minute} {
		text += line(now.Add(time.Hour+d), i)
	}
	at, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(text)}})
	if at != now || len(events) != 5 {
		t.Fatal(at, events)
	}
	for i, want := range []time.Time{now.Truncate(time.Second), now.Add(-59500 * time.Millisecond), now.Add(-61500 * time.Millisecond), now, now} {
		if !events[i].Time.Equal(want) {
			t.Errorf("event %d is at %v, want %v", i, events[i].Time, want)
		}
	}
	if s := in.read(); s.Late != 1 || s.Early != 1 || s.Events != 5 || s.Age != 0 {
		t.Errorf("%+v", s)
	}
}

func TestInletEmits(t *testing.T) {
	both := edgeguard.KindRequest | edgeguard.KindResponse
	text := `{"ts":1455926445,"remote_addr":"192.0.2.1"}` + "\n" + `{"ts":1455926445,"remote_addr":"192.0.2.2","status":404}` + "\n"
	for _, test := range []struct {
		emit edgeguard.Kind
		want []edgeguard.Kind
	}{
		{0, []edgeguard.Kind{edgeguard.KindRequest, both}},
		{both, []edgeguard.Kind{edgeguard.KindRequest, both}},
		{edgeguard.KindRequest, []edgeguard.Kind{edgeguard.KindRequest, edgeguard.KindRequest}},
		{edgeguard.KindResponse, []edgeguard.Kind{edgeguard.KindResponse}},
	} {
		in := newInlet(&Live{Now: time.Now, Emit: test.emit}, "x")
		_, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(text)}})
		if len(events) != len(test.want) {
			t.Fatalf("%v: %d events", test.emit, len(events))
		}
		for i, want := range test.want {
			if events[i].Kind != want || events[i].Verified != want {
				t.Errorf("%v: event %d is %v, verified %v", test.emit, i, events[i].Kind, events[i].Verified)
			}
		}
		if last := events[len(events)-1]; last.Addr.String() != "192.0.2.2" {
			t.Errorf("%v: last of %v", test.emit, last.Addr)
		}
		if s := in.read(); s.Lines != 2 || s.Events != uint64(len(test.want)) || s.Skipped != 0 {
			t.Errorf("%v: %+v", test.emit, s)
		}
	}
}

// TestInletLogins: a live log of sshd gets the year of the node's clock, also at
// New Year, and its other lines are no sign of a wrong format.
func TestInletLogins(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 30, 0, time.UTC)
	in := newInlet(&Live{Now: func() time.Time { return now }, Late: time.Hour, Format: format("sshd")}, "x")
	text := "Dec 31 23:59:59 web-1 sshd[7]: Failed password for root from 192.0.2.7 port 4711 ssh2\n" +
		"Jan  1 00:00:01 web-1 sshd[7]: Invalid user bob from 192.0.2.7 port 4711\n" +
		strings.Repeat("Jan  1 00:00:02 web-1 CRON[8]: session opened\n", 2*misfit)
	_, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(text)}})
	if len(events) != 2 || events[0].Time.Year() != 2026 || events[1].Time.Year() != 2027 || events[0].Verified != edgeguard.KindAuthFailure {
		t.Errorf("%+v", events)
	}
	if s := in.read(); s.Skipped != 0 || s.Err != nil || s.Late != 0 {
		t.Errorf("%+v", s)
	}
}

// TestInletDelimited: a log that is found to be a delimited file is not read live:
// its first line is the header of no other page.
func TestInletDelimited(t *testing.T) {
	in := newInlet(&Live{Now: time.Now}, "x")
	text := "datetime,src,dpt\n2016-02-20 00:00:45,192.0.2.1,80\n2016-02-20 00:00:45,192.0.2.1,80\n"
	if _, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(text)}}); len(events) != 0 {
		t.Errorf("%v", events)
	}
	if err := in.read().Err; err == nil || !strings.Contains(err.Error(), "cannot be delimited") {
		t.Error(err)
	}
}

// TestInletShows holds that the examples are the last ones, and few.
func TestInletShows(t *testing.T) {
	in := newInlet(&Live{Now: time.Now, Format: format("json")}, "x")
	for i := range 100 {
		in.parse(&page{Chunk: logline.Chunk{Text: fmt.Appendf(nil, "wrong %d\nwrong %d again\n", i, i)}})
	}
	s := in.read()
	if len(s.Shown) != logline.MaxShown || s.Shown[logline.MaxShown-1].String() != "x: not a JSON object: wrong 99" || s.Skipped != 200 || s.Troubles != 1 {
		t.Errorf("%+v", s)
	}
	if _, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(`{"ts":1455926445,"remote_addr":"192.0.2.1"}`)}}); len(events) != 1 || in.read().Err != nil {
		t.Errorf("%v, %+v", events, in.read())
	}
}

// TestInletAsks holds that a format whose address clients may write is read live
// only where a config names it.
func TestInletAsks(t *testing.T) {
	const line = `[2016-04-15T20:17:00.310Z] "GET / HTTP/1.1" 403 - 0 19 0 - "9.9.9.9" "x" "id" "h" "-"`
	for name, text := range map[string]string{"envoy": line, "fluentbit:envoy": `{"log":` + strconv.Quote(line) + `}`} {
		in := newInlet(&Live{Now: time.Now}, "x")
		_, events := in.parse(&page{Chunk: logline.Chunk{Text: []byte(text + "\n")}})
		if s := in.read(); len(events) != 0 || s.Err == nil || !strings.Contains(s.Err.Error(), "use_remote_address: true: if that is so, set format: "+name) {
			t.Errorf("%s: %d events, %v", name, len(events), s.Err)
		}
		in = newInlet(&Live{Now: time.Now, Format: format(name)}, "x")
		if _, events = in.parse(&page{Chunk: logline.Chunk{Text: []byte(text + "\n")}}); len(events) != 1 {
			t.Errorf("%s, named: %d events, %v", name, len(events), in.read())
		}
	}
}
