package envoy

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

func whole(number int, value uint64) []byte { return AppendWhole(nil, number, value) }

func entry(key, value string) []byte { return message(1, text(1, key), text(2, value)) }

func TestReadLimit(t *testing.T) {
	m := bytes.Join([][]byte{
		text(1, "edgeguard"), message(2, entry("remote_address", "192.0.2.7"), entry("path", "/a")), message(2, message(3)), message(2, entry("k", ""), message(3, whole(1, 7)), whole(4, 1)),
		whole(3, 1<<32+5),
	}, nil)
	var got LimitRequest
	want := LimitRequest{
		Domain: "edgeguard", Hits: 5, Entries: []Entry{{"remote_address", "192.0.2.7"}, {"path", "/a"}, {"k", ""}},
		Descriptors: []Descriptor{{From: 0, To: 2}, {From: 2, To: 2, Counts: true}, {From: 2, To: 3, Hits: 7, Counts: true, Returns: true}},
	}
	if !got.Read(m) || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if all := got.Of(got.Descriptors[0]); len(all) != 2 || all[1].Key != "path" {
		t.Errorf("%+v", all)
	}
}

// A call has a bound in parts, so that its answer has one, too.
func TestMost(t *testing.T) {
	for name, part := range map[string][]byte{"descriptors": message(2), "entries": message(2, entry("a", ""))} {
		var r LimitRequest
		if !r.Read(bytes.Repeat(part, mostDescriptors)) {
			t.Errorf("%d %s are refused", mostDescriptors, name)
		}
		if r.Read(bytes.Repeat(part, mostDescriptors+1)) {
			t.Errorf("%d %s are read", mostDescriptors+1, name)
		}
	}
	if new(LimitRequest).Read(message(2, bytes.Repeat(entry("a", ""), mostDescriptors+1))) {
		t.Error("too many entries of one descriptor are read")
	}
}

func TestAppend(t *testing.T) {
	a := LimitAnswer{Over: true, Statuses: []LimitStatus{
		{Over: true, Limit: &Limit{Rule: "site", Events: 10, Window: time.Minute}, Reset: 1500 * time.Millisecond},
		{Limit: &Limit{Events: 10, Window: 5 * time.Minute}, Left: 4, Reset: -time.Second},
		{},
	}, Headers: []Entry{{"retry-after", "2"}}, Body: []byte("no")}
	want := bytes.Join([][]byte{
		whole(1, 2),
		message(2, whole(1, 2), message(2, whole(1, 10), whole(2, 2), text(3, "site")), message(4, whole(1, 2))),
		message(2, whole(1, 1), message(2, whole(1, 10)), whole(3, 4), message(4)),
		message(2, whole(1, 1)),
		message(3, text(1, "retry-after"), text(2, "2")), text(5, "no"),
	}, nil)
	if got := a.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("%x\n%x", got, want)
	}
	for window, unitOf := range map[time.Duration]uint64{time.Second: 1, time.Minute: 2, time.Hour: 3, 24 * time.Hour: 4, 2 * time.Minute: 0, 7 * 24 * time.Hour: 0} {
		if got := unit(window); got != unitOf {
			t.Errorf("%v: unit %d", window, got)
		}
	}
}

func FuzzReadLimit(f *testing.F) {
	f.Add(bytes.Join([][]byte{text(1, "d"), message(2, entry("k", "v"), message(3, whole(1, 7))), whole(3, 2)}, nil))
	f.Add([]byte{0x12, 0x05, 0x1a})
	f.Fuzz(func(t *testing.T, m []byte) {
		var r LimitRequest
		if !r.Read(m) {
			return
		}
		if len(r.Descriptors) > mostDescriptors || len(r.Entries) > mostDescriptors {
			t.Fatal("over the bound")
		}
		last := 0
		for _, d := range r.Descriptors {
			if d.From != last || d.To < d.From || d.To > len(r.Entries) {
				t.Fatalf("%+v", r)
			}
			last = d.To
		}
		if last != len(r.Entries) {
			t.Fatalf("%+v", r)
		}
	})
}
