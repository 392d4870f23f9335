//go:build !unix

package accesslog

import "os"

// identity is not known here: a file is recognized by its name and by the bytes
// before the place alone.
func identity(os.FileInfo) (device, inode uint64) { return 0, 0 }
