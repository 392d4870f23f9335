package snippets

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"edgeguard/setup"
)

// Install is how a snippet is put into a proxy's own files.
type Install struct {
	Proxy string // as package setup knows it; also its unit, and the program that checks
	// Config is where the proxy's configuration begins. Check has the arguments that check it, with
	// FILE for its place.
	Config string
	Check  []string
	Log    string // that the proxy writes for sites without a log
	List   string // that the proxy needs to start; the node writes it
	Wiring setup.Wiring
	Own    []Part   // edgeguard's files: its config's piece, units, folders
	Files  []Part   // of the proxy, new ones; without a path: where the proxy reads what is for all sites
	Path   string   // a path unit that is enabled
	Leaves []string // what the node or the proxy makes, removed last
}

// Installable returns the names of the snippets that [InstallOf] knows.
func Installable() []string { return []string{"caddy-names", "haproxy-peers", "nginx-names"} }

// InstallOf returns how a snippet is installed into a proxy whose configuration begins at a file;
// empty: where packages put it.
func InstallOf(name, config string, v Values) (Install, error) {
	parts, err := Parts(name, v)
	if err != nil {
		return Install{}, err
	}
	v = v.filled()
	text := map[string]string{}
	var in Install
	for _, p := range parts {
		text[p.Name] = p.Text
		switch p.Name {
		case "config":
			p.Path = "conf.d/" + name + ".yaml"
			in.Own = append(in.Own, p)
		case "proxy", "server", "install", "check", "remove":
		default:
			in.Own = append(in.Own, p)
		}
	}
	switch name {
	case "nginx-names":
		in.nginx(config, text, v)
	case "caddy-names":
		in.caddy(config, text, v)
	case "haproxy-peers":
		in.haproxy(config, text)
	default:
		return Install{}, unknown("snippets: --install is not offered for", name, Installable())
	}
	return in, nil
}

func (in *Install) nginx(config string, text map[string]string, v Values) {
	in.Proxy, in.Config, in.Check = "nginx", cmp.Or(config, "/etc/nginx/nginx.conf"), []string{"-t", "-c", "FILE"}
	in.List, in.Path = v.State+"/nginx-geo.conf", "edgeguard-nginx-geo.path"
	in.Files = []Part{{Text: text["proxy"]}, {Path: path.Join(path.Dir(in.Config), "snippets/edgeguard.conf"), Text: text["server"]}}
	in.Wiring = setup.Wiring{Site: []string{"include snippets/edgeguard.conf;"}, Folder: v.Names}
}

func (in *Install) caddy(config string, text map[string]string, v Values) {
	in.Proxy, in.Config, in.Check = "caddy", cmp.Or(config, "/etc/caddy/Caddyfile"), []string{"validate", "--adapter", "caddyfile", "--config", "FILE"}
	in.Log = setup.CaddyLog
	folder := path.Dir(in.Config)
	proxy := strings.SplitAfter(text["proxy"], "\n")
	comment := slices.IndexFunc(proxy, func(line string) bool { return !strings.HasPrefix(line, "#") })
	from := slices.IndexFunc(proxy, func(line string) bool { return strings.HasPrefix(line, "\tmap ") })
	to := slices.IndexFunc(proxy, func(line string) bool { return strings.HasPrefix(line, "\trespond ") })
	common, log := path.Join(folder, "edgeguard.conf"), path.Join(folder, "edgeguard-log.conf") // an import is relative to its own file
	in.Files = []Part{{Path: common, Text: strings.Join(proxy[:comment], "") + strings.ReplaceAll("\n"+strings.Join(proxy[from:to+1], ""), "\n\t", "\n")[1:]}, {Path: log, Text: "# For each site without a log of its own.\nlog {\n\toutput file " + in.Log + "\n}\n"}}
	in.Wiring = setup.Wiring{
		Site: []string{`import "` + common + `"`}, LogLine: `import "` + log + `"`,
		Inner: []string{strings.TrimSpace(proxy[to])}, Folder: v.Names,
	}
}

// haproxy takes the printed config apart: what its frontend has goes into each, and its sections, but
// for those of the site, to the end.
func (in *Install) haproxy(config string, text map[string]string) {
	in.Proxy, in.Config, in.Check = "haproxy", cmp.Or(config, "/etc/haproxy/haproxy.cfg"), []string{"-c", "-f", "FILE"}
	section := ""
	for line := range strings.Lines(text["proxy"]) {
		line = strings.TrimRight(line, "\n")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if line[0] != ' ' {
			section = words[0]
		}
		switch {
		case section == "backend", words[0] == "bind" && section == "frontend", words[0] == "frontend", words[0] == "default_backend":
		case section != "frontend":
			in.Wiring.End = append(in.Wiring.End, line)
		case words[0] == "capture", words[0] == "log", words[0] == "log-format":
			in.Wiring.Inner = append(in.Wiring.Inner, strings.TrimSpace(line))
		default:
			in.Wiring.Site = append(in.Wiring.Site, strings.TrimSpace(line))
		}
	}
	in.Leaves = []string{haproxyRoot + "/edgeguard/peers.sock", haproxyRoot + "/edgeguard/log.sock", haproxyRoot + "/edgeguard", haproxyRoot + "/peers.sock",
		haproxyRoot + "/var/lib/haproxy", haproxyRoot + "/var/lib", haproxyRoot + "/var"}
}
