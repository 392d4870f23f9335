// Package nodeaddr finds the node that a command asks. It declares the flags that name the
// node, reads from a config where it listens, also while the config has errors because the
// node runs with its former one, or else takes the socket of this user's node without a
// config.
package nodeaddr

import (
	"errors"
	"fmt"

	"edgeguard/admin/call"
	"edgeguard/config"
)

// read returns where the node of a config file listens; "" is a node without a config.
// Where the file has errors, that is what its section listen says alone, and flaws is what
// is wrong with the file. The error says that there is no such section, or that it has
// errors too.
func read(file string) (l config.Listen, flaws *config.Errors, err error) {
	if file == "" {
		return config.Default().Listen, nil, nil
	}
	c, err := config.Load(file)
	if err == nil {
		return c.Listen, nil, nil
	}
	if !errors.As(err, &flaws) {
		return config.Listen{}, nil, err
	}
	unread := fmt.Errorf("%w\nthe address of the node cannot be read from %s either: use --admin ADDRESS", err, file)
	l, given, err := config.LoadListen(file)
	if err != nil || !given {
		return config.Listen{}, flaws, unread
	}
	return l, flaws, nil
}

// explain adds the errors of a config to the error of a call to the node that it names:
// the address may be wrong. An answer of the node is not changed.
func explain(err error, flaws *config.Errors) error {
	if answered := new(call.Problem); err == nil || flaws == nil || errors.As(err, &answered) {
		return err
	}
	return fmt.Errorf("%w\nthe config has errors:\n%w", err, flaws)
}
