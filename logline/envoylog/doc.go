// Package envoylog reads Envoy's default text format.
package envoylog
