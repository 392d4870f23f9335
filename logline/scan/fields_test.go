package scan

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"edgeguard"
)

// TestEventIsOverwritten holds that nothing of the event before is left: the memory of
// events is used again.
func TestEventIsOverwritten(t *testing.T) {
	f := Fields{Addr: netip.MustParseAddr("192.0.2.1"), At: Instant{sec: 1}}
	var fresh, used edgeguard.Event
	all := reflect.ValueOf(&used).Elem()
	for i := range all.NumField() {
		switch v := all.Field(i); v.Kind() {
		case reflect.String:
			v.SetString("old")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32:
			v.SetUint(1)
		case reflect.Func:
			used.Header = func(string) (string, bool) { return "", true }
		}
	}
	used.Time = time.Unix(99, 0)
	for i := range all.NumField() {
		if all.Field(i).IsZero() && all.Type().Field(i).Name != "Addr" {
			t.Fatalf("the test does not set %s", all.Type().Field(i).Name)
		}
	}
	if f.Event(&fresh); f.Event(&used) != Read || !reflect.DeepEqual(fresh, used) {
		t.Errorf("%+v, want %+v", used, fresh)
	}
}
