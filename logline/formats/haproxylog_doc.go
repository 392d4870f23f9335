package formats

// This file reads HAProxy's httplog and httpslog.
