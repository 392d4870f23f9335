package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log that knows only what stands before the server is said with the fix by replay, tune and check,
// and what would be blocked in it is a front door. A log with clients is not.
func TestFrontDoorIsSaid(t *testing.T) {
	private := func(i int) string { return fmt.Sprintf("172.31.7.%d", 200+i%2) }
	for name, c := range map[string]struct {
		addr    func(i int) string
		config  string
		whose   string // empty: they are clients
		blocked string // in the row of replay
	}{
		"a balancer":    {addr: private, whose: "private addresses", blocked: "front door"},
		"a named one":   {addr: private, config: "clients: [172.16.0.0/12]\n", whose: "", blocked: "block"},
		"Cloudflare":    {addr: func(i int) string { return fmt.Sprintf("162.158.1.%d", 1+i%40) }, whose: "addresses of Cloudflare", blocked: "front door"},
		"public client": {addr: func(i int) string { return fmt.Sprintf("198.18.1.%d", 1+i%40) }, blocked: "block"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			log, config := filepath.Join(folder, "access.log"), filepath.Join(folder, "edgeguard.yaml")
			var text strings.Builder
			line := func(i int, addr, path string, status int) {
				fmt.Fprintf(&text, "%s - - [02/Mar/2026:08:%02d:%02d +0000] \"GET %s HTTP/1.1\" %d 7 \"-\" \"curl/8\"\n", addr, i/60, i%60, path, status)
			}
			for i := range 200 {
				line(i, c.addr(i), "/", 200)
			}
			for i := range 20 {
				line(200+i, c.addr(0), fmt.Sprintf("/missing%d.php", i), 404)
			}
			for file, text := range map[string]string{log: text.String(),
				config: c.config + "presets: [{name: web}]\nsensors: {accesslog: [{file: " + log + ", format: combined}]}\n"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, errs := replaySaid(t, "replay", "--config", config, log)
			if !strings.Contains(out, c.addr(0)+"  "+c.blocked) && !strings.Contains(out, c.blocked) || strings.Contains(out, "looks like a front door") != (c.whose != "") {
				t.Errorf("replay: %s\n%s", out, errs)
			}
			for _, command := range [][]string{{"replay", "--config", config, log}, {"tune", "--config", config, log}, {"check", "--config", config}, {"tune", "--json", "--config", config, log}} {
				out, errs := replaySaid(t, command...)
				said := strings.Contains(out+errs, c.whose) && strings.Contains(out+errs, "real_ip_header")
				if said != (c.whose != "") || command[1] == "--json" && strings.Contains(out, `{"type":"warning","front_door":"`) != said {
					t.Errorf("%v says %v: %s\n%s", command, said, out, errs)
				}
			}
		})
	}
}
