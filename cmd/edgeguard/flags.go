package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// plainFlag returns the error of a flag's value without the names of the calls that
// parsed it: what was given, and what may be.
func plainFlag(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	use := wrong.Unwrap().Error()
	switch wrong.GetFlag().Value.Type() {
	case "uint", "uint16", "uint32", "uint64":
		use = "use a whole number, 0 or more"
	case "int", "int64":
		use = "use a whole number"
	case "float64":
		use = "use a number, such as 0.95"
	case "bool":
		use = "use true or false"
	case "duration":
		use = "use a time such as 90s, 5m or 1h"
	}
	if errors.Is(err, strconv.ErrRange) {
		use = "the number is too large"
	}
	return fmt.Errorf("--%s %q: %s", wrong.GetFlag().Name, wrong.GetValue(), use)
}
