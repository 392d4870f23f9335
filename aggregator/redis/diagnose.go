package redis

import (
	"errors"
)

// diagnose returns the fault that err means; err is not nil.
func (c *Config) diagnose(err error) Fault { return faultOf(err, c.User, c.Namespace) }

// Explain turns an error of a Pusher into one for an operator: what is wrong
// with Redis, and how to fix it.
func (c *Config) Explain(err error) error { return errors.New(c.diagnose(err).Text) }

func shorten(text string) string { return shortenFault(text) }
