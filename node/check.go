package node

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator/redis"
	"edgeguard/config"
	"edgeguard/logline"
	"edgeguard/node/fleetlink"
	"edgeguard/node/lists"
	"edgeguard/sensor/accesslog"
	"edgeguard/sensor/clientaddr"
)

// Check returns the mistakes of a config that package config cannot find: in log
// formats, headers, proxies and lists. It opens nothing. New and Reload call it
// too. The error names every place.
func Check(c *config.Config) error {
	var errs []error
	note := func(path string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Located(path), err))
		}
	}
	for _, l := range c.Listeners() {
		if l.Clients != nil {
			note(l.Key, checkClients(*l.Clients.Trust, l.Clients.Header))
		}
	}
	for i, l := range c.Sensors.AccessLog {
		note(fmt.Sprintf("sensors.accesslog[%d]", i), checkLog(l))
	}
	for i, f := range c.Enforce.Files {
		note(fmt.Sprintf("enforce.files[%d]", i), lists.CheckFile(f))
	}
	if c.Fleet != nil {
		client, err := redis.NewClient(fleetlink.RedisConfig(c, "")) // it does not connect yet
		if err == nil {
			_ = client.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkClients tries how a listener finds the client of a request.
func checkClients(trusted []netip.Prefix, header string) error {
	trust, err := clientaddr.NewTrust(trusted, true)
	if err == nil {
		_, err = clientaddr.NewFinder(trust, header)
	}
	return err
}

// checkLog tries the format as a follower would, which refuses delimited ones.
func checkLog(l config.AccessLog) error {
	format, err := logline.ParseFormat(l.Format)
	if err != nil {
		return err
	}
	live := accesslog.Live{Format: format, Now: time.Now, Decide: func(time.Time, []edgeguard.Event) {}}
	name := l.File
	if name == "" {
		name = l.Listen.String()
	}
	_, err = accesslog.NewFollower(accesslog.FollowConfig{Live: live, File: name})
	return err
}
