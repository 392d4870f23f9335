// Package httpauth runs the configurations of package snippets in the real
// proxies. It has tests only; they skip where a proxy is not installed.
package httpauth
