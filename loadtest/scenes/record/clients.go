package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// recording is what one program is made to do.
type recording struct {
	name, says string
	needs      []string // programs and modules that must be there
	version    []string // the command that says which one it is
	run        func(ctx context.Context, s *site) error
}

var recordings = []recording{
	{"chromium", "A browser reads five pages with eight dead links each, and opens an application: two wrong passwords, calls, a session that ends, a stream that breaks off.",
		[]string{"chromium"}, []string{"chromium", "--version"}, chromium},
	{"curl", "Scripts: a server that fails and one that is busy (--retry 5), a password that is refused, a redirect, a page that is gone.",
		[]string{"curl"}, []string{"curl", "--version"}, curl},
	{"wget", "A mirror of the site with all that its pages show.",
		[]string{"wget"}, []string{"wget", "--version"}, wget},
	{"git", "Clone, fetch and push, of a repository that a program serves and of one that lies in a folder, and clone of one that asks for a password.",
		[]string{"git"}, []string{"git", "--version"}, git},
	{"rclone", "30 files in 5 folders are copied to a WebDAV folder, then three that have changed, and then listed.",
		[]string{"rclone", davModule}, []string{"rclone", "version"}, rclone},
	{"davfs2", "A WebDAV folder is mounted: files are copied into it, looked up, read, moved, changed and removed.",
		[]string{"mount.davfs", "root", davModule}, []string{"mount.davfs", "--version"}, davfs2},
	{"newsboat", "A feed reader with 12 feeds, one of which is gone, reloads three times.",
		[]string{"newsboat"}, []string{"newsboat", "--version"}, newsboat},
}

// command runs a program in a folder of its own and in the C locale. That it fails is
// often what is recorded.
func (s *site) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "HOME="+s.folder, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=h", "GIT_AUTHOR_EMAIL=h@harbour.example", "GIT_COMMITTER_NAME=h", "GIT_COMMITTER_EMAIL=h@harbour.example")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %.300s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// all runs commands, one after the other, and ends at the first that fails. A command
// that begins with "!" has to fail.
func (s *site) all(ctx context.Context, commands ...string) error {
	for _, line := range commands {
		fields := strings.Fields(strings.ReplaceAll(line, "$URL", s.url))
		fails := fields[0] == "!"
		if fails {
			fields = fields[1:]
		}
		if err := s.command(ctx, fields[0], fields[1:]...); (err != nil) != fails {
			return fmt.Errorf("%s: fails %v, want %v: %w", line, err != nil, fails, err)
		}
	}
	return nil
}

func chromium(ctx context.Context, s *site) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.done:
		case <-ctx.Done():
		}
		cancel()
	}()
	cmd := exec.CommandContext(ctx, "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+filepath.Join(s.folder, "chromium"), "--remote-debugging-port=0", s.url+"/")
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	select {
	case <-s.done:
		return nil
	default:
		return fmt.Errorf("the tour did not end: %w", err)
	}
}

func curl(ctx context.Context, s *site) error {
	return s.all(ctx, "! curl -sf --retry 4 $URL/app/fails", "curl -sf --retry 5 $URL/app/busy", "! curl -sf --anyauth -u harbour:wrong $URL/app/private",
		"! curl -sf -u harbour:wrong $URL/app/private", "curl -sL $URL/feeds", "! curl -sf $URL/gone.html", "curl -sI $URL/index.html", "curl -s -r 0-9 $URL/index.html")
}

func wget(ctx context.Context, s *site) error {
	return s.all(ctx, "! wget -q --mirror --page-requisites --wait 0.2 $URL/index.html")
}

func git(ctx context.Context, s *site) error {
	const repository = "repositories/harbour.git"
	return s.all(ctx, "git init -q work", "git -C work commit -q --allow-empty -m one", "git clone -q --bare work "+repository, "git -C "+repository+" config http.receivepack true",
		"git -C "+repository+" update-server-info", "cp -r "+repository+" www/harbour.git",
		"git clone -q $URL/git/smart/harbour.git smart", "git -C smart fetch -q", "git -C smart commit -q --allow-empty -m two", "git -C smart push -q", "git -C smart fetch -q --tags",
		"git clone -q $URL/harbour.git dumb", "git -C dumb fetch -q", "! git clone -q $URL/git/private/harbour.git private", "! git clone -q $URL/git/gone/harbour.git gone")
}

// tree writes 30 files in 5 folders.
func (s *site) tree(name string) error {
	for n := range 30 {
		file := filepath.Join(s.folder, name, fmt.Sprintf("folder-%d/Document-%d.txt", n%5, n))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(strings.Repeat("harbour ", n+1)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func rclone(ctx context.Context, s *site) error {
	if err := s.tree("files"); err != nil {
		return err
	}
	sync := "rclone sync -q files :webdav:team --webdav-url " + s.url + "/dav/"
	if err := s.all(ctx, sync); err != nil {
		return err
	}
	for n := range 3 {
		if err := os.WriteFile(filepath.Join(s.folder, fmt.Sprintf("files/folder-%d/New-%d.txt", n, n)), []byte("new"), 0o644); err != nil {
			return err
		}
	}
	return s.all(ctx, sync, "rclone lsf -R :webdav:team --webdav-url "+s.url+"/dav/")
}

func davfs2(ctx context.Context, s *site) error {
	if err := s.tree("files"); err != nil {
		return err
	}
	mount := filepath.Join(s.folder, "mount")
	conf := filepath.Join(s.folder, "davfs2.conf")
	if err := os.WriteFile(conf, []byte("ask_auth 0\ndelay_upload 0\nignore_dav_header 1\n"), 0o600); err != nil {
		return err
	}
	if err := s.all(ctx, "mkdir "+mount, "mount.davfs -o conf="+conf+" $URL/dav/ "+mount); err != nil {
		return err
	}
	// No folder is listed: newer kernels refuse what davfs2 1.6 answers to that. It asks
	// the server for the whole folder all the same when a name in it is looked up.
	team := mount + "/team"
	work := s.all(ctx, "cp -r files "+team, "! cat "+team+"/gone.txt", "! cat "+team+"/.hidden", "cp "+team+"/folder-1/Document-1.txt back",
		"mv "+team+"/folder-2 "+mount+"/old", "cp back "+team+"/folder-1/Document-6.txt", "rm "+team+"/folder-1/Document-11.txt", "! ls "+team+"/folder-9")
	if err := s.all(ctx, "umount "+mount); err != nil {
		return err
	}
	return work
}

func newsboat(ctx context.Context, s *site) error {
	var urls strings.Builder
	for n := range 11 {
		fmt.Fprintf(&urls, "%s/feeds/%d.xml\n", s.url, n)
	}
	fmt.Fprintf(&urls, "%s/feeds/gone.xml\n", s.url)
	config := filepath.Join(s.folder, "newsboat")
	for name, text := range map[string]string{"urls": urls.String(), "config": "max-items 10\n"} {
		if err := os.WriteFile(config+"."+name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	reload := fmt.Sprintf("newsboat -C %[1]s.config -u %[1]s.urls -c %[1]s.db -x reload", config)
	return s.all(ctx, reload, reload, reload)
}
