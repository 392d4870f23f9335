// Package squidlog reads Squid's native access.log.
package squidlog
