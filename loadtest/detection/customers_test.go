package main

import (
	"bytes"
	"context"
	"testing"
)

// Of a guesser who fetches three pages first it is said by every rule of logins that blocks him.
func TestCustomersFaked(t *testing.T) {
	var out, notes bytes.Buffer
	if err := run(context.Background(), []string{"-data", t.TempDir(), "-seeds", "0", "-customers"}, &out, &notes); err != nil {
		t.Fatal(err)
	}
	hasLines(t, &out, "| "+guesserFakes+" | packaged | 20 | 20 | 20 | 20 |", "| "+guesserFakes+" | three logins an hour | 20 | 20 | 20 | 20 |")
}
