// Package listeners runs the listeners of a node. Each is a [Service], which a reload keeps
// where its settings are the same: those at which proxies ask ([Asked]), those of HAProxy's
// peers protocol ([HAProxies]), and those of the admin API and of bouncers, whose servers their
// own packages make.
package listeners
