package doctor

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// UnitName is the unit's.
const UnitName = "edgeguard.service"

// Unit is what systemd knows of the node's unit: commands of root check the host for the
// user that it names, with its groups, since one that the unit adds is in no file of
// users.
type Unit struct {
	Found   bool
	Active  bool     // it runs, or is starting
	User    string   // the account that runs it; empty for root
	Groups  []string // the user's own, those of the files of groups, and the unit's
	Folders []string // that systemd makes at the start, such as /run/edgeguard
	Command string   // that starts the node
	// Rights are its capabilities, such as CAP_NET_ADMIN.
	Rights string

	UID, GID uint32
	GIDs     []uint32 // of Groups

	// Variables and Files are the lines Environment and EnvironmentFile.
	Variables, Files []string
}

// unitAskFor is how long systemd may take to answer.
const unitAskFor = 5 * time.Second

// ReadUnit asks systemd for the unit, and where systemd does not run, reads the unit's
// files. The error says that the unit's user or a group is not on this host.
func ReadUnit(ctx context.Context) (Unit, error) {
	ctx, cancel := context.WithTimeout(ctx, unitAskFor)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "show", UnitName, "--property="+strings.Join(keys, ",")).Output()
	if err != nil {
		return fromFiles([]string{"/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"})
	}
	return parseUnit(string(out))
}

var keys = []string{"LoadState", "ActiveState", "User", "Group", "SupplementaryGroups", "RuntimeDirectory", "StateDirectory", "ExecStart", "Environment", "EnvironmentFile", "EnvironmentFiles", "AmbientCapabilities"}

// fromFiles reads the unit in the first of the folders that has it, with its drop-ins.
func fromFiles(folders []string) (Unit, error) {
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, UnitName))
		if err != nil {
			continue
		}
		all := string(text)
		for _, drops := range folders {
			names, _ := filepath.Glob(filepath.Join(drops, UnitName+".d", "*.conf")) // the pattern is valid
			for _, name := range names {
				if more, err := os.ReadFile(name); err == nil {
					all += "\n" + string(more)
				}
			}
		}
		return parseUnit(all + "\nLoadState=loaded\n")
	}
	return Unit{}, nil
}

// parseUnit reads KEY=VALUE lines, of systemctl show or of a unit's file.
func parseUnit(text string) (Unit, error) {
	values := map[string][]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, found := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if found && slices.Contains(keys, key) {
			values[key] = append(values[key], value)
		}
	}
	last := func(key string) string {
		if all := values[key]; len(all) > 0 {
			return all[len(all)-1]
		}
		return ""
	}
	u := Unit{
		Found:   last("LoadState") == "loaded",
		Active:  slices.Contains([]string{"active", "activating", "reloading"}, last("ActiveState")),
		User:    last("User"),
		Command: last("ExecStart"),

		Rights: strings.ToUpper(strings.Join(sinceReset(values["AmbientCapabilities"]), " ")),

		Variables: values["Environment"], Files: append(values["EnvironmentFile"], values["EnvironmentFiles"]...),
	}
	if !u.Found {
		return Unit{}, nil
	}
	for _, name := range strings.Fields(strings.Join(values["RuntimeDirectory"], " ")) {
		u.Folders = append(u.Folders, filepath.Join("/run", name))
	}
	for _, name := range strings.Fields(strings.Join(values["StateDirectory"], " ")) {
		u.Folders = append(u.Folders, filepath.Join("/var/lib", name))
	}
	return u, u.identify(last("Group"), strings.Fields(strings.Join(values["SupplementaryGroups"], " ")))
}

// sinceReset returns the values after the last empty one, which takes back those before.
func sinceReset(values []string) []string {
	for i := len(values) - 1; i >= 0; i-- {
		if values[i] == "" {
			return values[i+1:]
		}
	}
	return values
}

// identify finds the numbers of the user and the groups.
func (u *Unit) identify(group string, more []string) error {
	if u.User == "" {
		u.User = "root"
	}
	who, err := user.Lookup(u.User)
	if err != nil {
		return fmt.Errorf("the user %s of %s is not on this host: run systemd-sysusers", u.User, UnitName)
	}
	own, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return fmt.Errorf("user %s: %w", u.User, err)
	}
	u.UID = uint32(own)
	primary := who.Gid
	if group != "" {
		if primary, err = number(group); err != nil {
			return err
		}
	}
	ids, err := who.GroupIds()
	if err != nil {
		return fmt.Errorf("groups of %s: %w", u.User, err)
	}
	for _, name := range more {
		id, err := number(name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	return u.groups(primary, ids)
}

// groups sets the groups: the primary one, and the others each once.
func (u *Unit) groups(primary string, ids []string) error {
	for i, id := range append([]string{primary}, ids...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return fmt.Errorf("group %s: %w", id, err)
		}
		if i == 0 {
			u.GID = uint32(n)
		}
		if !slices.Contains(u.GIDs, uint32(n)) {
			u.GIDs = append(u.GIDs, uint32(n))
			u.Groups = append(u.Groups, GroupName(uint32(n)))
		}
	}
	return nil
}

// number returns a group's number by its name or number.
func number(group string) (string, error) {
	if _, err := strconv.ParseUint(group, 10, 32); err == nil {
		return group, nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return "", fmt.Errorf("the group %s of %s is not on this host: run systemd-sysusers", group, UnitName)
	}
	return g.Gid, nil
}

// GroupName returns the name of a group, or its number if it has none.
func GroupName(gid uint32) string {
	text := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(text); err == nil {
		return g.Name
	}
	return text
}
