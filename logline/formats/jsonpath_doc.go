package formats

// This file reads JSON lines by the paths that an operator gives: those of
// the Elastic Common Schema, of a cloud's logging, of a program's own.
//
//	json:addr=source.ip,time=@timestamp,path=url.original,status=http.response.status_code
//
// A path leads through objects, also where their names are written as one
// ("source.ip"). What is beside the paths is passed over, whatever its names are.
// The paths must lead to what the server knows: a header is a client's.
