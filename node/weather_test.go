package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
)

// inFleet is a node that joins the fleet of a Redis as the user "edge".
const inFleet = `
node: edge-a
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"], auth: ["unix:$DIR/auth.sock"]}
fleet: {redis: "redis://edge@$REDIS", password_file: $DIR/password, namespace: test, push: 50ms}
rules: [{name: site, threshold: 20, window: 1m}]
`

// fleetUser returns a line of an ACL file: the documented one, changed.
func fleetUser(change ...string) string {
	line := redis.ACLLine("edge", "test")
	line = strings.NewReplacer("ACL SETUSER", "user", "PASSWORD", "secret").Replace(line)
	return strings.NewReplacer(change...).Replace(line)
}

// newFleetNode returns a node of that config.
func newFleetNode(t *testing.T, s *redistest.Server) *underTest {
	t.Helper()
	folder := shortDir(t)
	if err := os.WriteFile(filepath.Join(folder, "password"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newNode(t, folder, strings.ReplaceAll(inFleet, "$REDIS", s.Addr))
}

// fleetLines counts the lines of the log about the fleet.
func (u *underTest) fleetLines() int {
	return strings.Count(u.log.String(), "alarm=fleet")
}

// A fault that shows only after each join, an ACL line without the key of the
// watch list, makes few joins and one line.
func TestJoinsThatEndAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Users: []string{fleetUser("~eg:{test/*", "~eg:{test/[0-9]* ~eg:{test/b}:[^w]*")}})
	if _, err := redis.Install(t.Context(), s.Client()); err != nil {
		t.Fatal(err)
	}
	u := newFleetNode(t, s).start()
	u.eventually("it was joined and cut off", func() bool { f := u.fleet(); return f.Joins > 0 && !f.Up })
	// On a busy machine a join may have timed out before, which is a line of its own.
	const what = "its ACL line: ACL SETUSER edge"
	u.eventually("the log says what to do", func() bool { return strings.Contains(u.log.String(), what) })
	begun, before := time.Now(), u.fleet().Joins
	u.eventually("eight seconds are over", func() bool { return time.Since(begun) > 8*time.Second })
	joins, lines := u.fleet().Joins-before, strings.Count(u.log.String(), what)
	t.Logf("%d joins and %d lines in 8 s", joins, lines)
	if joins > 5 || lines != 1 {
		t.Errorf("%d joins and %d lines in 8 s, want 5 at most and one:\n%s", joins, lines, u.log)
	}
}

// The log names the cause that is in force: Redis dies, which is one, and comes
// back without the functions, which is another.
func TestTheCauseThatIsInForceIsLogged(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{Users: []string{fleetUser()}})
	if _, err := redis.Install(t.Context(), s.Client()); err != nil {
		t.Fatal(err)
	}
	u := newFleetNode(t, s).start()
	u.eventually("it is joined", func() bool { return u.fleet().Up })
	s.Kill()
	u.eventually("the log says that Redis is away", func() bool { return strings.Contains(u.log.String(), "cannot be reached") })
	s.Restart()
	u.eventually("the log names the functions", func() bool { return strings.Contains(u.log.String(), "function library") })
	if lines := u.fleetLines(); lines != 2 {
		t.Errorf("%d lines, want two:\n%s", lines, u.log)
	}
	if _, err := redis.Install(t.Context(), s.Client()); err != nil {
		t.Fatal(err)
	}
	u.eventually("it is joined again", func() bool { return u.fleet().Up })
	u.eventually("the log says so", func() bool { return strings.Contains(u.log.String(), "works again") })
}
