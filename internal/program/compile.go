package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Edgeguard is the package of the command that operators run.
const Edgeguard = "edgeguard/cmd/edgeguard"

// Compile builds a package's command into a folder and returns its path. What the
// compiler writes meanwhile lies in that folder, too, so that who removes it after ctx
// has ended leaves nothing. env is added to the environment.
func Compile(ctx context.Context, folder, pkg string, env ...string) (path string, err error) {
	path = filepath.Join(folder, filepath.Base(pkg))
	build := exec.CommandContext(ctx, "go", "build", "-o", path, pkg)
	build.Env = append(append(os.Environ(), "TMPDIR="+folder), env...)
	InGroup(build)
	out, err := build.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("go build %s: %w: %s", pkg, err, LastLine(out))
	}
	return path, nil
}

// LastLine is the end of what a program said: the error.
func LastLine(said []byte) string {
	said = bytes.TrimSpace(said)
	return string(said[bytes.LastIndexByte(said, '\n')+1:])
}
