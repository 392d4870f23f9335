// Command thirdparty says whose work is in the program: the Go modules that are
// linked into it, Go's own library, and the console's chart library.
//
//	go run ./internal/thirdparty -notices FILE            writes their licences
//	go run ./internal/thirdparty -sbom BINARY -version V  prints a binary's parts, as CycloneDX
package main

//go:generate go run . -notices ../../packaging/THIRD_PARTY_NOTICES

import (
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	toFile := flag.String("notices", "", "write the licences to this `file`")
	binary := flag.String("sbom", "", "print the parts of this `binary`")
	version := flag.String("version", "", "the `version` of the binary")
	flag.Parse()
	if err := run(*toFile, *binary, *version); err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
		os.Exit(1)
	}
}

func run(toFile, binary, version string) error {
	parts, err := linked()
	if err != nil {
		return err
	}
	switch {
	case toFile != "":
		return os.WriteFile(toFile, notices(parts), 0o644)
	case binary == "" || version == "":
		return errors.New("nothing to do: use -notices FILE, or -sbom BINARY -version VERSION")
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: set it to the commit's time: %w", err)
	}
	text, err := sbom(info, parts, version, time.Unix(seconds, 0).UTC())
	if err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	_, err = os.Stdout.Write(text)
	return err
}
