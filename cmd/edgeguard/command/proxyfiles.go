package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"edgeguard/internal/logtail"
)

// MostProxyFile bounds what is read of a proxy's file.
const MostProxyFile = 1 << 20

// ProxyFiles reads the configurations of proxies.
type ProxyFiles struct{}

// Read returns the text of a file.
func (ProxyFiles) Read(path string) (string, error) {
	f, _, err := logtail.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, MostProxyFile+1))
	if err == nil && len(text) > MostProxyFile {
		err = fmt.Errorf("%s is longer than %d bytes", path, MostProxyFile)
	}
	return string(text), err
}

// Glob returns the files that match a pattern, as programs in C find them: a hidden file is not one of *.
func (ProxyFiles) Glob(pattern string) []string {
	names, _ := filepath.Glob(pattern) // a wrong pattern has no files
	if strings.HasPrefix(filepath.Base(pattern), ".") {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") })
}
