package enforce_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/enforce"
)

// A runner keeps an nginx deny list in step with a blocklist.
func Example() {
	dir, err := os.MkdirTemp("", "edgeguard")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "blocked.conf")

	list := blocklist.New(blocklist.Config{})
	file, err := enforce.NewFile(enforce.FileConfig{
		Path:   path,
		Format: enforce.FormatNginx,
		Reload: []string{"cat", path}, // in earnest: nginx -s reload
		Every:  time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := enforce.New(enforce.Config{Name: path, Enforcer: file, Blocks: list.All, Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	list.OnChange(runner.Changed)

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = runner.Run(ctx) }()

	now := time.Now()
	block := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.45/32"), Since: now, Until: now.Add(time.Hour), Version: 1}
	if _, err := list.Merge(block, now); err != nil {
		fmt.Println(err)
	}
	for runner.Stats().Installed == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	text, _ := os.ReadFile(path)
	fmt.Print(string(text))
	// Output:
	// # Written by edgeguard: changes made here are lost.
	// deny 203.0.113.45;
}
