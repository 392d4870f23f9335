// Package observe has the commands that show what a running node does. They change
// nothing.
package observe
