package scan

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// read reads a stamp without a zone.
func (c *Clock) read(t *testing.T, text string) time.Time {
	t.Helper()
	at, ok := c.Any([]byte(text))
	if !ok {
		t.Fatalf("%q is no time", text)
	}
	return at.Time()
}

const bare = "2006-01-02 15:04:05"

// TestLocal holds that a stamp without a zone is the host's time, or UTC where the lines are,
// on hosts of several zones and over a change of summer time.
func TestLocal(t *testing.T) {
	for _, name := range []string{"America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, writer := range []*time.Location{zone, time.UTC} {
			for _, from := range []time.Time{
				time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC), time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC),
				time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 13, 0, 0, 0, time.UTC),
			} {
				c := Clock{Zone: zone}
				for at := from; at.Before(from.Add(5 * time.Hour)); at = at.Add(97 * time.Second) {
					c.SetNow(at.Add(2*time.Second), false)
					if got := c.read(t, at.In(writer).Format(bare)); !got.Equal(at) {
						t.Fatalf("%s, written in %s at %s: %s", name, writer, at, got)
					}
				}
			}
		}
	}
}

// TestLocalTurn holds that lines which are as late as the zone is off change what holds only if
// they go on for a while: those that were missed are read in a moment.
func TestLocalTurn(t *testing.T) {
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	c := Clock{Zone: zone}
	c.SetNow(now, false)
	c.read(t, now.In(zone).Format(bare))
	for range 10 * enoughLines {
		if hour := now.Add(-time.Hour); !c.read(t, hour.In(zone).Format(bare)).Equal(hour) {
			t.Fatal("late lines are read as if they were written now")
		}
	}
	for i := 0; ; i++ {
		now = now.Add(time.Second)
		c.SetNow(now, false)
		if got := c.read(t, now.Format(bare)); got.Equal(now) {
			break
		} else if !got.Equal(now.Add(-time.Hour)) || i > enoughTime {
			t.Fatalf("after %d seconds of UTC: %s at %s", i, got, now)
		}
	}
}

// TestLocalBacklog holds that of hours that are read at once no more than the lines of ten minutes
// are taken for lines of now, whoever wrote them and whichever is the first.
func TestLocalBacklog(t *testing.T) {
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, writer := range []*time.Location{zone, time.UTC} {
			for down := time.Minute; down < 7*time.Hour; down += 7 * time.Minute {
				c, wrong := Clock{Zone: zone}, 0
				for at := now.Add(-down); at.Before(now); at = at.Add(5 * time.Second) {
					c.SetNow(now.Add(at.Sub(now)/1000), false)
					if got := c.read(t, at.In(writer).Format(bare)); got.After(now.Add(-staleAfter*time.Second)) && at.Before(now.Add(-staleAfter*time.Second)) {
						wrong += 5
					}
				}
				if wrong > 2*staleAfter {
					t.Errorf("%s, written in %s, after %s: old lines of %d s are read as of now", name, writer, down, wrong)
				}
			}
		}
	}
}

// TestLocalSure holds that a zone that somebody named is not left.
func TestLocalSure(t *testing.T) {
	zone := time.FixedZone("", -5*3600)
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	c := Clock{Zone: zone}
	for i := range 60 {
		at := now.Add(time.Duration(i) * time.Second)
		if c.SetNow(at, true); !c.read(t, at.Format(bare)).Equal(at.Add(5 * time.Hour)) {
			t.Fatal("the zone was left")
		}
	}
	if off := c.Off(); off != (Off{Seconds: 5 * 3600, Lines: 60, Since: now.Unix()}) {
		t.Errorf("off: %+v", off)
	}
	if c.read(t, now.Add(time.Minute).In(zone).Format(bare)); c.Off().Lines != 0 {
		t.Error("a line of now does not end it")
	}
}

// TestLocalSettled holds that a stamp without a zone is in the offset that brings it nearest to
// the instant that stands around it.
func TestLocalSettled(t *testing.T) {
	at := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	for _, header := range []string{"2026-11-27T10:00:03.123Z stdout F ", "<134>1 2026-11-27T15:30:03+05:30 web app 7 - - ", "web-1  | 2026-11-27T05:00:03-05:00 web app: ", "web-1  | <13>2026-11-27T10:00:03Z web app: ", "2026-11-27T10:00:03Z stdout F web-1  | <13>Nov 27 11:00:00 web app: "} {
		for _, east := range []time.Duration{0, time.Hour, -5 * time.Hour, 5*time.Hour + 45*time.Minute, 14 * time.Hour, -12 * time.Hour} {
			c := Clock{Zone: time.FixedZone("", 3600)}
			c.SetHeader([]byte(header))
			if got := c.read(t, at.Add(east).Format(bare)); !got.Equal(at) || c.Bare() {
				t.Errorf("%q, %s: %s", header, east, got)
			}
			if got := c.read(t, "2026-11-27T10:00:00+03:00"); !got.Equal(at.Add(-3 * time.Hour)) {
				t.Errorf("a stamp with a zone: %s", got)
			}
			if c.SetHeader(nil); !c.read(t, at.Format(bare)).Equal(at.Add(-time.Hour)) || !c.Bare() {
				t.Error("without a header it is not of the zone")
			}
		}
	}
	c := Clock{Zone: time.UTC}
	c.SetHeader([]byte("Nov 27 11:00:03 web app: "))
	if got := c.read(t, "2026-11-27 11:00:00"); !got.Equal(at.Add(time.Hour)) {
		t.Errorf("by a header without a zone: %s", got)
	}
	c = Clock{Zone: time.UTC}
	c.SetTime([]byte("2026-11-27T10:00:01Z"), &Clock{Zone: time.UTC})
	if got := c.read(t, "2026-11-27 11:00:00"); !got.Equal(at) {
		t.Errorf("in an envelope: %s", got)
	}
}

// TestLocalTwice holds that an hour that comes twice is read in the file's order where nobody
// knows when the lines were written.
func TestLocalTwice(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := Clock{Zone: zone}
	from := time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC)
	for at := from; at.Before(from.Add(4 * time.Hour)); at = at.Add(5 * time.Minute) {
		if got := c.read(t, at.In(zone).Format(bare)); !got.Equal(at) {
			t.Fatalf("%s: %s", at, got)
		}
	}
	c = Clock{Zone: zone}
	for _, want := range []time.Time{from.Add(85 * time.Minute), from.Add(2*time.Hour + 5*time.Minute)} { // 2:25 and, once more, 2:05
		if got := c.read(t, want.In(zone).Format(bare)); !got.Equal(want) {
			t.Errorf("%s: %s", want, got)
		}
	}
	if got := c.read(t, "2026-03-29 02:30:00"); !got.Equal(time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)) {
		t.Errorf("an hour that is missing: %s", got)
	}
}
