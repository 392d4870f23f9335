package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

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
	line := i.Addr + ": " + LibraryName + " " + did
	if len(i.Others) > 0 {
		line += "; also installed: " + strings.Join(i.Others, ", ")
	}
	return line
}

// Install loads the function library, and that of replays, on every master that client knows. It may
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
	all, err := client.FunctionList(ctx, goredis.FunctionListQuery{LibraryNamePattern: "edgeguard*", WithCode: true}).Result()
	if err != nil {
		return done, fmt.Errorf("%s: list function libraries: %w: the user needs this ACL line: %s", addr, err, LoaderACL(""))
	}
	missing := maps.Clone(sources)
	for _, found := range all {
		switch {
		case sources[found.Name] == "":
			done.Others = append(done.Others, found.Name)
			continue
		case found.Code == sources[found.Name]:
			delete(missing, found.Name)
		}
		if found.Name == LibraryName {
			done.Was = "other"
		}
	}
	if missing[LibraryName] == "" {
		done.Was = "same"
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if err := client.FunctionLoadReplace(ctx, missing[name]).Err(); err != nil {
			return done, fmt.Errorf("%s: load %s: %w", addr, name, err)
		}
	}
	return done, nil
}
