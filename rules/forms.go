package rules

import "edgeguard/internal/unsafetext"

// form is a path as terms compare it. Bare is the same without its extension, for a term that
// folds; empty where there is none.
type form struct{ path, bare string }

// forms are those of one target: servers differ in how they read it, and any of them may be what
// was served.
type forms struct {
	normal         [2]form // as nginx and as Apache read it
	folded         [4]form // these folded, and of the target without its parameters
	normals, folds int
}

// formsOf returns those that a meter compares.
func (f *forms) formsOf(m *Meter) []form {
	if m.fold {
		return f.folded[:f.folds]
	}
	return f.normal[:f.normals]
}

// readForms finds the forms of a target, those that are folded only if they are asked for. What is
// not in the target as it stands is appended to room, and valid as long as that. (What is made is
// returned: what is written through a pointer would have the room on the heap.)
func readForms(target string, fold bool, room []byte) (f forms) {
	if path, plain := plainPath(target); plain {
		f.normal[0], f.normals = form{path: path}, 1
	} else {
		f.normal, f.normals, room = readings(target, room)
	}
	if !fold {
		return f
	}
	for _, p := range f.normal[:f.normals] {
		f.folded[f.folds], room = folded(p.path, room)
		f.folds++
	}
	if hasParameters(target) {
		// As servers read it that cut parameters off its segments before they read escapes and
		// dots: "/a/..;/login" is "/login" for Tomcat.
		start := len(room)
		room = appendWithoutParameters(room, target)
		cut, n, rest := readings(unsafetext.String(room[start:]), room)
		for _, p := range cut[:n] {
			f.folded[f.folds], rest = folded(p.path, rest)
			f.folds++
		}
	}
	return f
}

// readings finds the normal form of a target's path, and what else it may be.
func readings(target string, room []byte) (of [2]form, n int, rest []byte) {
	start := len(room)
	room = normalPath(room, target)
	of[0].path = unsafetext.String(room[start:])
	if !hasOther(target) {
		return of, 1, room
	}
	start = len(room)
	room = otherPath(room, target)
	of[1].path = unsafetext.String(room[start:])
	return of, 2, room
}

// folded returns the folded form of a path.
func folded(path string, room []byte) (f form, rest []byte) {
	start := len(room)
	room = appendFolded(room, path)
	f.path = unsafetext.String(room[start:])
	f.bare = withoutExtension(f.path)
	return f, room
}
