package pattern

// This file has the expressions by which the logs of common services are
// read, under their names. Each holds where the service itself writes the address,
// and is judged by package regexlog as an operator's is: no name, path or agent
// that a client sends can move the address. Where a log writes what clients sent on
// both sides of the address, as Gitea and Samba do, no expression is here.
