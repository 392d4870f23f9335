// Command house prints the structure of the checkout that it is started in: how
// large its rooms, packages, types and functions are, and who imports whom. It
// judges nothing: what may not be is in the tests at the root.
//
//	go run ./internal/house
package main

import (
	"fmt"
	"os"
)

func main() {
	h, err := read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	h.print(os.Stdout)
}
