package redis

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// loadEvery is the least time between two tries of a node to load the library.
const loadEvery = 5 * time.Second

// loader installs the function library where Redis lacks it. It is of Run's
// goroutine.
type loader struct {
	*wire
	tried time.Time // the last time
}

// installLibrary installs the library with the loader's credentials, if the node has
// some.
func (l *loader) installLibrary(ctx context.Context) {
	if l.config.LoaderFile == "" || (!l.tried.IsZero() && time.Since(l.tried) < loadEvery) {
		return
	}
	l.tried = time.Now()
	if err := l.config.load(ctx); err != nil {
		l.stats.failed("install")
		l.stats.noteError(err)
		l.node.Alarm("loader", "redis", "the function library cannot be loaded: "+shorten(err.Error()))
		return
	}
	l.node.Calm("loader", "redis")
}

func (c Config) load(ctx context.Context) error {
	if err := c.asLoader(); err != nil {
		return err
	}
	client, err := NewClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*c.Timeout)
	defer cancel()
	_, err = Install(ctx, client)
	return err
}

// asLoader sets the loader's credentials.
func (c *Config) asLoader() error {
	text, err := os.ReadFile(c.LoaderFile)
	if err != nil {
		return fmt.Errorf("fleet.loader_file: %w", err)
	}
	user, password, _ := strings.Cut(strings.TrimRight(string(text), "\r\n"), "\n")
	user, password = strings.Trim(user, " \t\r"), strings.Trim(password, " \t\r")
	if user == "" || password == "" || strings.ContainsAny(user+password, "\r\n") {
		return fmt.Errorf("fleet.loader_file: %s: write two lines, the user's name and then its password", c.LoaderFile)
	}
	c.User, c.Password, c.PasswordFile = user, password, ""
	return nil
}
