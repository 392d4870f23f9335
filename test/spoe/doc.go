// Package spoe has a real HAProxy ask sensor/spoe, with the configuration that
// `edgeguard snippets haproxy-spoe` prints.
package spoe
