package unsafetext

import "testing"

func TestRoundTrip(t *testing.T) {
	for _, want := range []string{"", "a", "some text\x00\xff"} {
		if got := String([]byte(want)); got != want {
			t.Errorf("String: %q, want %q", got, want)
		}
		if got := string(Bytes(want)); got != want {
			t.Errorf("Bytes: %q, want %q", got, want)
		}
	}
	if String(nil) != "" || len(Bytes("")) != 0 {
		t.Error("nothing is not nothing")
	}
}

// TestShares: what is returned is the argument's memory.
func TestShares(t *testing.T) {
	b := []byte("GET")
	s := String(b)
	b[0] = 'B'
	if s != "BET" {
		t.Errorf("%q, want the changed bytes", s)
	}
	if n := testing.AllocsPerRun(10, func() { _ = len(String(b)) + len(Bytes(s)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
