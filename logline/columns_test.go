package logline

import (
	"strings"
	"testing"
	"time"
)

// TestColumns: a delimited file is recognized by the names of its columns, where
// these leave no choice.
func TestColumns(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"datetime,host,src,proto,type,spt,dpt\n2013-03-03 21:53:59,sensor-1,1032051418,TCP,,6000,1433\n", "csv:time=datetime,addr=src,port=dpt,node=host,sep=comma"},
		{"Timestamp;Client-IP;Host;Method;URI;Status;User Agent\n2013-03-03 21:53:59;192.0.2.1;h;GET;/;200;x\n",
			"csv:time=Timestamp,addr=Client-IP,method=Method,path=URI,status=Status,agent=User Agent,host=Host,sep=semicolon"},
		{"\"time\"\t\"src_ip\"\n2013-03-03 21:53:59\t192.0.2.1\n", "csv:time=time,addr=src_ip,sep=tab"},
		{"time,src,host\n2013-03-03 21:53:59,192.0.2.1,h\n", "csv:time=time,addr=src,sep=comma"}, // whose host?
		{"time,src,client_ip\n2013-03-03 21:53:59,192.0.2.1,192.0.2.2\n", ""},
		{"time,ts,src\n2013-03-03 21:53:59,1,192.0.2.1\n", ""},
		{"time,dst\n2013-03-03 21:53:59,192.0.2.1\n", ""},
		{"time,src\n", ""},
		{"time,src\n1,2\n3,4\n", ""},
		{"time,src\n1,x\n2,y\n2013-03-03 21:53:59,192.0.2.1\n", ""},
		{"time=1,src\n2013-03-03 21:53:59,192.0.2.1\n", ""},
	} {
		f, err := Detect([]byte(test.file), nil)
		switch {
		case test.want == "" && err == nil:
			t.Errorf("%q: recognized as %s", test.file, f)
		case test.want != "" && (err != nil || f.String() != test.want):
			t.Errorf("%q: %v, %v; want %s", test.file, f, err, test.want)
		case test.want != "":
			l, c := f.Parser("log", time.UTC), Chunk{}
			if c.Text, _, err = l.Begin([]byte(test.file)); err != nil {
				t.Fatal(err)
			}
			if l.Parse(&c); len(c.Events) != strings.Count(test.file, "\n")-1 {
				t.Errorf("%q: %d events", test.file, len(c.Events))
			}
		}
	}
}
