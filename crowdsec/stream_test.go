package crowdsec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

const large = 1 << 20

// lists reads an answer into memory.
func lists(answer string) (added, deleted []Decision, err error) {
	err = readDecisions(strings.NewReader(answer), large, func(d *Decision) { added = append(added, *d) }, func(d *Decision) { deleted = append(deleted, *d) })
	return added, deleted, err
}

// What LAPI 1.4.6 and a current one answer, byte for byte.
func TestRead(t *testing.T) {
	old := `{"deleted":[{"duration":"-8.896656ms","id":3,"origin":"edgeguard","scenario":"edgeguard/site","scope":"Ip","type":"ban","value":"192.0.2.3"}],` +
		`"new":[{"duration":"2h59m59.775520821s","id":5,"origin":"cscli","scenario":"manual 'ban' from 'm1'","scope":"Ip","type":"ban","value":"192.0.2.3"}]}`
	recent := `{"new": [{"duration":"4h","id":5,"origin":"lists","scenario":"firehol","scope":"Range","type":"ban","uuid":"b4","value":"198.51.100.0/24","simulated":false,"x":[1,{"y":-1.5e3}]}], "deleted": []}` + "\n"
	manual := Decision{"cscli", "ban", "Ip", "192.0.2.3", "2h59m59.775520821s", "manual 'ban' from 'm1'"}
	lifted := Decision{"edgeguard", "ban", "Ip", "192.0.2.3", "-8.896656ms", "edgeguard/site"}
	list := Decision{"lists", "ban", "Range", "198.51.100.0/24", "4h", "firehol"}
	for _, row := range []struct {
		answer         string
		added, deleted []Decision
	}{
		{`{"deleted":null,"new":null}`, nil, nil},
		{old, []Decision{manual}, []Decision{lifted}},
		{recent, []Decision{list}, nil},
		{`{"new":[{},{"value":null,"scenario":"\u00e9\ud83d\ude00\n\"\ud800"}],"deleted":[]}`, []Decision{{}, {Scenario: "é😀\n\"\uFFFD"}}, nil},
	} {
		added, deleted, err := lists(row.answer)
		if err != nil || !reflect.DeepEqual(added, row.added) || !reflect.DeepEqual(deleted, row.deleted) {
			t.Errorf("%s\n%v %v %v", row.answer, added, deleted, err)
		}
	}
}

// What is not a whole answer is an error that says in a few words what it is.
func TestRefused(t *testing.T) {
	for _, row := range []struct{ answer, want string }{
		{"", "it ends in the middle, after 0 bytes"},
		{"<html><body>502 Bad Gateway", `it is not the JSON of decisions: unexpected '<'`},
		{`{"message":"access forbidden"}`, errNotList.Error()},
		{`{"new":[],"deleted":[]`, "it ends in the middle, after 22 bytes"},
		{`{"new":[{"value":"192.0.2.1"`, "it ends in the middle"},
		{`{"new":[]}`, errNotList.Error()},
		{`{"new":[],"deleted":[]}{}`, "unexpected '{'"},
		{`{"new":{},"deleted":[]}`, "unexpected '{'"},
		{`{"new":[1],"deleted":[]}`, "unexpected '1'"},
		{`{"new":[{"value":7}],"deleted":[]}`, "unexpected '7'"},
		{`{"new":[{"value":"` + "\n" + `"}],"deleted":[]}`, "unexpected '\\n'"},
		{`{"new":[{"value":"\x"}],"deleted":[]}`, "unexpected 'x'"},
		{`{"new":nil,"deleted":[]}`, "unexpected 'i'"},
		{`[]`, "unexpected '['"},
		{`null`, "unexpected 'n'"},
		{`{"x":` + strings.Repeat("[", 1000), errDeep.Error()},
		{`{"x":` + strings.Repeat(`{"x":`, 1000), errDeep.Error()},
		{`{"x":"` + strings.Repeat("x", large) + `","new":[],"deleted":[]}`, errLarge.Error()},
	} {
		if _, _, err := lists(row.answer); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%.60s: %v, want %s", row.answer, err, row.want)
		}
	}
	broken := errors.New("connection reset")
	err := readDecisions(io.MultiReader(strings.NewReader(`{"new":[`), iotest.ErrReader(broken)), large, nil, nil)
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// A prefix of an answer is never an answer.
func TestEveryHalfIsRefused(t *testing.T) {
	whole := `{"new":[{"id":1,"value":"192.0.2.1","scenario":"a\u00e9"}],"deleted":[{"id":-2.5,"simulated":false}]}`
	for n := range len(whole) {
		if _, _, err := lists(whole[:n]); err == nil {
			t.Errorf("%s is taken", whole[:n])
		}
	}
}

// The text of a field is cut, and one that is skipped is not kept.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", 3*maxText)
	added, _, err := lists(`{"new":[{"scenario":"` + long + `","uuid":"` + long + `"}],"deleted":null}`)
	if err != nil || len(added) != 1 || len(added[0].Scenario) != maxText {
		t.Errorf("%v %v", added, err)
	}
}

// An answer without an end costs no memory.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := readDecisions(io.MultiReader(strings.NewReader(`{"new":[{"scenario":"`), endless('x')), 1<<26, nil, nil)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, errLarge) || used > 1<<20 {
		t.Errorf("%v, %d bytes", err, used)
	}
}

type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// FuzzRead compares it with encoding/json: what that reads as two lists of decisions is read to
// the same here.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"deleted":null,"new":[{"duration":"59m58.7s","id":1,"origin":"cscli","scenario":"manual 'ban' from 'm1'","scope":"Ip","type":"ban","value":"192.0.2.77"}]}`))
	f.Add([]byte(`{"new": [{"value":"\u0031\n","x":[1,{"y":null}],"z":true}], "deleted": [{},{"origin":null}]}`))
	f.Add([]byte(`{"new":[],"deleted":[],"links":[[[[]]]]}`))
	f.Add([]byte(`<html>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		added, deleted, err := lists(string(b))
		for _, d := range append(added, deleted...) {
			if len(d.Scenario) > maxText || len(d.Value) > maxText {
				t.Fatal("a text is too long")
			}
		}
		var twin struct {
			New     *[]map[string]any `json:"new"`
			Deleted *[]map[string]any `json:"deleted"`
		}
		if !utf8.Valid(b) || bytes.Contains(b, []byte(`\ud`)) || bytes.Contains(b, []byte(`\uD`)) || json.Unmarshal(b, &twin) != nil || !plainNames(b) {
			return
		}
		if err != nil {
			if deepOrTyped(err) || twin.New == nil || twin.Deleted == nil {
				return
			}
			t.Fatalf("encoding/json reads it: %v", err)
		}
		same(t, added, twin.New)
		same(t, deleted, twin.Deleted)
	})
}

// plainNames reports whether no name is given twice or in another case: there the two differ.
func plainNames(b []byte) bool {
	for _, name := range []string{`"new"`, `"deleted"`} {
		if bytes.Count(bytes.ToLower(b), []byte(name)) != 1 {
			return false
		}
	}
	return !bytes.Contains(b, []byte(`\u`))
}

func deepOrTyped(err error) bool {
	return errors.Is(err, errDeep) || errors.Is(err, errNotList) || strings.Contains(err.Error(), "unexpected")
}

func same(t *testing.T, got []Decision, want *[]map[string]any) {
	t.Helper()
	if want == nil {
		want = new([]map[string]any)
	}
	if len(got) != len(*want) {
		t.Fatalf("%d decisions, want %d", len(got), len(*want))
	}
	for i, w := range *want {
		for name, field := range map[string]string{"origin": got[i].Origin, "value": got[i].Value, "duration": got[i].Duration} {
			text, _ := w[name].(string)
			if len(text) <= maxText && text != field {
				t.Fatalf("%s %q, want %q", name, field, text)
			}
		}
	}
}

// BenchmarkRead reads an answer of 100,000 decisions.
func BenchmarkRead(b *testing.B) {
	var answer bytes.Buffer
	answer.WriteString(`{"new":[`)
	for i := range 100_000 {
		if i > 0 {
			answer.WriteByte(',')
		}
		fmt.Fprintf(&answer, `{"duration":"59m58.719482934s","id":%d,"origin":"CAPI","scenario":"crowdsecurity/http-probing","scope":"Ip","type":"ban","value":"10.%d.%d.%d"}`, i, i>>16, i>>8&255, i&255)
	}
	answer.WriteString(`],"deleted":null}`)
	b.SetBytes(int64(answer.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := readDecisions(bytes.NewReader(answer.Bytes()), 1<<30, func(*Decision) { n++ }, nil); err != nil || n != 100_000 {
			b.Fatal(n, err)
		}
	}
}
