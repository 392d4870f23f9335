// Package haproxylog reads HAProxy's httplog and httpslog.
package haproxylog
