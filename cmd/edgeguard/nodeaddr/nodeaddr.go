// Package nodeaddr finds the node that a command asks. It declares the flags that name the
// node, reads from a config where it listens, also while the config has errors because the
// node runs with its former one, or else takes the socket of this user's node without a
// config.
package nodeaddr

import (
	"errors"
	"fmt"
	"io"
	"os"

	"edgeguard/admin/call"
	"edgeguard/config"
	"edgeguard/config/yaml"
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
	section, err := sectionOf(file)
	if err != nil || section == nil {
		return config.Listen{}, flaws, unread
	}
	alone, err := config.Parse(file, section)
	if err != nil {
		return config.Listen{}, flaws, unread
	}
	return alone.Listen, flaws, nil
}

func sectionOf(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, yaml.MaxFile))
	return yaml.TopSection(data, "listen"), err
}

// explain adds the errors of a config to the error of a call to the node that it names:
// the address may be wrong. An answer of the node is not changed.
func explain(err error, flaws *config.Errors) error {
	if answered := new(call.Problem); err == nil || flaws == nil || errors.As(err, &answered) {
		return err
	}
	return fmt.Errorf("%w\nthe config has errors:\n%w", err, flaws)
}
