package haproxypeers

// This file runs a real HAProxy and a real edgeguard, connected by the peers
// protocol, and compares what edgeguard counts with what clients requested: under
// reloads, restarts and kills of both.
