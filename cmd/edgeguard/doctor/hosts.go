package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"edgeguard/config"
	"edgeguard/logline"
)

// OldHosts says which logs a client can forge because this host's nginx writes blanks into
// $host, or takes them in $http_host, where the log's format has that end at the first. It asks nginx for its version
// only if there is such a log, and says nothing where there is no nginx.
func OldHosts(ctx context.Context, c *config.Config) (all []string) {
	var old string
	for _, log := range c.Sensors.AccessLog {
		f, err := logline.ParseFormat(log.Format)
		if err != nil || f == nil || !f.EndsHost() {
			continue
		}
		if old == "" {
			ctx, cancel := context.WithTimeout(ctx, askFor)
			said, err := exec.CommandContext(ctx, "nginx", "-v").CombinedOutput()
			cancel()
			if err != nil || !writesBlanks(string(said)) {
				return nil
			}
			old = string(nginxVersion.Find(said))
		}
		all = append(all, fmt.Sprintf("%s: %s lets a client write blanks into $host or $http_host, and with them another's address before $remote_addr: "+
			"upgrade nginx to 1.21.1, or put $remote_addr first, or quotes around the host", cmp.Or(log.File, log.Listen.String()), old))
	}
	return all
}

var nginxVersion = regexp.MustCompile(`nginx/(\d+)\.(\d+)\.(\d+)`)

// writesBlanks reports whether nginx -v says a version before 1.21.1.
func writesBlanks(said string) bool {
	m := nginxVersion.FindStringSubmatch(said)
	if m == nil {
		return false
	}
	version := 0
	for _, part := range m[1:] {
		n, _ := strconv.Atoi(part) // of digits
		version = version*1000 + n
	}
	return version < 1_021_001
}
