package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !For(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("it slept for %v", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if For(ctx, time.Hour) || time.Since(began) != time.Hour+time.Minute {
			t.Errorf("it ended after %v", time.Since(began))
		}
	})
}
