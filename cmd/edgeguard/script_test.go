package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the scripts' command edgeguard this very program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"edgeguard": func() { os.Exit(run(context.Background(), environment(), os.Args[1:])) },
	})
}

// TestScripts runs the command as its users do: each script in testdata is a
// session at the prompt.
func TestScripts(t *testing.T) {
	sample, err := filepath.Abs("../../docs/sample/attack.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("SAMPLE", sample)
			return nil
		},
		RequireExplicitExec: true,
	})
}
