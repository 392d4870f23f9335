package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
)

// version is set by a release build: -ldflags "-X main.version=v1.2.3".
var version string

// versionJSON is the version for programs.
type versionJSON struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Example: `  edgeguard version
  edgeguard version --json`,
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if e.JSON {
				return e.PrintJSON(versionJSON{buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			_, err := io.WriteString(e.Stdout, versionLine())
			return err
		},
	}
	e.JSONFlag(c, "print JSON, one object")
	return c
}

// versionLine is what `edgeguard version` and --version print.
func versionLine() string {
	return fmt.Sprintf("edgeguard %s (%s, %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is the release's version, or else what the toolchain knows.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
