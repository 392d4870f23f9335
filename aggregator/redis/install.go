package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Installed is what Install found and did on one master.
type Installed struct {
	Addr string
	// Was is what was installed before: "" nothing, "same", or "other" for
	// another text of the same library, which was replaced.
	Was string
	// Others are the other versions of the library there; they stay.
	Others []string
}

// String returns a line for an operator.
func (i Installed) String() string {
	did := map[string]string{"": "installed", "same": "was already installed", "other": "was replaced by this build's version"}[i.Was]
	line := i.Addr + ": " + Library + " " + did
	if len(i.Others) > 0 {
		line += "; also installed: " + strings.Join(i.Others, ", ")
	}
	return line
}

// Install loads the function library on every master that client knows. It may
// be repeated, and changes nothing where the library is installed. What was
// done is returned even if a master failed. Its user needs what LoaderACL
// allows.
func Install(ctx context.Context, client goredis.UniversalClient) ([]Installed, error) {
	cluster, ok := client.(*goredis.ClusterClient)
	if !ok {
		one, err := installOn(ctx, client, address(client))
		if err != nil {
			return nil, err
		}
		return []Installed{one}, nil
	}
	var mu sync.Mutex // guards done and failed
	var done []Installed
	var failed []error
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		one, err := installOn(ctx, c, c.Options().Addr)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = append(failed, err)
			return nil // go on with the other masters
		}
		done = append(done, one)
		return nil
	})
	slices.SortFunc(done, func(a, b Installed) int { return strings.Compare(a.Addr, b.Addr) })
	return done, errors.Join(append(failed, err)...)
}

func address(client goredis.UniversalClient) string {
	if one, ok := client.(*goredis.Client); ok {
		return one.Options().Addr
	}
	return "redis"
}

// installOn installs the library on one master.
func installOn(ctx context.Context, client goredis.Cmdable, addr string) (Installed, error) {
	done := Installed{Addr: addr}
	found, err := client.FunctionList(ctx, goredis.FunctionListQuery{LibraryNamePattern: "edgeguard*", WithCode: true}).Result()
	if err != nil {
		return done, fmt.Errorf("%s: list function libraries: %w: the user needs this ACL line: %s", addr, err, LoaderACL(""))
	}
	for _, library := range found {
		switch {
		case library.Name != Library:
			done.Others = append(done.Others, library.Name)
		case library.Code == Source:
			done.Was = "same"
		default:
			done.Was = "other"
		}
	}
	if done.Was == "same" {
		return done, nil
	}
	if err := client.FunctionLoadReplace(ctx, Source).Err(); err != nil {
		return done, fmt.Errorf("%s: load %s: %w", addr, Library, err)
	}
	return done, nil
}

// loadEvery is the least time between two tries of a node to load the library.
const loadEvery = 5 * time.Second

// load installs the library with the loader's credentials, if the node has
// some.
func (l *Link) load(ctx context.Context) {
	if l.config.LoaderFile == "" || (!l.loaded.IsZero() && time.Since(l.loaded) < loadEvery) {
		return
	}
	l.loaded = time.Now()
	if err := l.config.load(ctx); err != nil {
		l.stats.failed("install")
		l.stats.note(err)
		l.node.Alarm("loader", "redis", "the function library cannot be loaded: "+shorten(err.Error()))
		return
	}
	l.node.Calm("loader", "redis")
}

func (c Config) load(ctx context.Context) error {
	if err := c.asLoader(); err != nil {
		return err
	}
	client, err := Dial(c)
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
