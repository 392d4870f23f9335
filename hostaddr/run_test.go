package hostaddr

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// change is one call of Run's function.
type change struct {
	at  time.Duration
	set string
	err string
}

// TestRun lets sources change, fail and mend while time goes by.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		own := []Protected{protected("192.0.2.10/32", "interface eth0")}
		var broken error
		var mu sync.Mutex // guards own and broken
		c := Config{Root: dir, Interfaces: func() ([]Protected, error) {
			mu.Lock()
			defer mu.Unlock()
			return own, broken
		}}
		become := func(err error, addrs ...Protected) {
			mu.Lock()
			defer mu.Unlock()
			own, broken = addrs, err
		}
		begin := time.Now()
		var got []change
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- Run(ctx, c, 0, func(s Set, err error) {
				text := ""
				if err != nil {
					text = err.Error()
				}
				got = append(got, change{time.Since(begin), show(s), text})
			})
		}()
		time.Sleep(12 * time.Second) // looks at 0, 5 and 10: nothing new
		become(nil, own[0], protected("192.0.2.11/32", "interface eth0"))
		time.Sleep(10 * time.Second) // 15 sees it, 20
		become(errors.New("half read"), protected("192.0.2.12/32", "interface eth0"))
		time.Sleep(10 * time.Second) // 25 fails: nothing is taken back; 30 fails the same way
		become(nil, own[0])
		time.Sleep(10 * time.Second) // 35 is in order again
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
		const first, second, third = "192.0.2.10/32 interface eth0\n", "192.0.2.11/32 interface eth0\n", "192.0.2.12/32 interface eth0\n"
		want := []change{
			{0, first, ""},
			{15 * time.Second, first + second, ""},
			{25 * time.Second, first + second + third, "half read"},
			{35 * time.Second, third, ""},
		}
		if len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("change %d: got %v, want %v", i, got[i], want[i])
			}
		}
	})
}
