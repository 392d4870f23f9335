// Package fieldpath writes where in a config a value lies, as in
// "rules[1].match.path[0]".
package fieldpath

import (
	"fmt"
	"strings"
)

// Join returns the path of a mapping's field.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Item returns the path of a list's item.
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Parent returns the path without its last field or index; false for one that has
// no other.
func Parent(path string) (string, bool) {
	end := strings.LastIndexAny(path, ".[")
	if end <= 0 {
		return "", false
	}
	return path[:end], true
}

// Text returns where the text of a path is kept. The only item of a list may be
// written without the list.
func Text(path string) string { return strings.ReplaceAll(path, "[0]", "") }
