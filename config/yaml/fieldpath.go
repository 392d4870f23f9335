package yaml

import (
	"fmt"
	"strings"
)

// JoinPath returns the path of a mapping's field. A path says where in a config a value
// lies, as in "rules[1].match.path[0]".
func JoinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// ItemPath returns the path of a list's item.
func ItemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// ParentPath returns the path without its last field or index; false for one that has
// no other.
func ParentPath(path string) (string, bool) {
	end := strings.LastIndexAny(path, ".[")
	if end <= 0 {
		return "", false
	}
	return path[:end], true
}

// PathText returns where the text of a path is kept. The only item of a list may be
// written without the list.
func PathText(path string) string { return strings.ReplaceAll(path, "[0]", "") }
