package node

import (
	"errors"

	"edgeguard/config"
	"edgeguard/internal/unixsocket"
	"edgeguard/node/sockets"
)

// addresses returns where the config listens, and who may connect.
func addresses(c *config.Config) map[string]unixsocket.Access {
	all := make(map[string]unixsocket.Access)
	for _, l := range c.Listeners() {
		all[l.Address.String()] = unixsocket.Access(l.Access)
	}
	return all
}

// bind opens the sockets before anything runs, so that a node that could see
// nothing ends with the reason. What else fails is tried again by its service.
func bind(s *sockets.Sockets, c *config.Config) error {
	var errs []error
	asked := 0
	for _, l := range c.Listeners() {
		listener, err := s.Open(l.Address.String(), unixsocket.Access(l.Access))
		if err == nil {
			_ = listener.Close() // the socket stays open
		} else if l.Asked != "" && l.Usual {
			errs = append(errs, err)
		}
		if l.Asked != "" {
			asked++
		}
	}
	if len(errs) > 0 && len(errs) == asked && len(c.Sensors.AccessLog) == 0 && !c.HAProxy.Counts() {
		return errors.Join(errs...)
	}
	return nil
}

// rehearse checks a config and opens what is new in it, before anything is
// changed.
func rehearse(s *sockets.Sockets, c, before *config.Config) error {
	if err := Check(c); err != nil {
		return err
	}
	known := addresses(before)
	for address, access := range addresses(c) {
		if _, is := known[address]; is {
			continue // it is open, or its alarm is active and it is tried again
		}
		listener, err := s.Open(address, access)
		if err != nil {
			s.Keep(known)
			return err
		}
		_ = listener.Close() // the socket stays open for settle
	}
	return nil
}
