package logline

const goodLine = `192.0.2.1 - - [20/Feb/2016:00:00:45 +0000] "GET / HTTP/1.0" 404 12 "-" "x"` + "\n"
