// Package observe has the commands that show what a running node does.
package observe
