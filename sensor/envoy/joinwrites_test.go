package envoy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// All parts arrive, in their order, and also what was written just before the end.
func TestOrder(t *testing.T) {
	near, far := net.Pipe()
	c := joinWrites(near, time.Minute)
	random := rand.New(rand.NewPCG(1, 2))
	var want []byte
	var got bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&got, far) })
	for i := range 3000 {
		part := bytes.Repeat([]byte{byte(i)}, random.IntN(200))
		if i%1000 == 0 {
			part = bytes.Repeat([]byte{byte(i)}, 3*most)
		}
		want = append(want, part...)
		if n, err := c.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		for j := range part {
			part[j] = '!' // it belongs to the caller again
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	reading.Wait()
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes of %d arrived, or in another order", got.Len(), len(want))
	}
	if _, err := c.Write([]byte("late")); err == nil {
		t.Error("a closed connection writes")
	}
}

// One whose other side does not read is closed in bounded time, and holds a bounded part.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := joinWrites(near, time.Minute)
		begun, taken := time.Now(), 0
		var err error
		for err == nil {
			var n int
			n, err = c.Write(make([]byte, 1000))
			taken += n
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 2*time.Minute || taken > 2*most {
			t.Errorf("%v after %v, with %d bytes", err, time.Since(begun), taken)
		}
		if _, err := near.Write(nil); err == nil {
			t.Error("it is open")
		}
		_ = c.Close()
	})
}

// A connection that is closed does not wait long for one that does not read.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		c := joinWrites(near, time.Minute)
		if _, err := c.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_ = c.Close()
		_ = c.Close()
		if took := time.Since(begun); took != farewell {
			t.Errorf("it took %v", took)
		}
	})
}
