package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kinds are the kinds of checks that catch a bug.
var kinds = []string{"unit test", "property", "brute force", "audit", "verify"}

// bug is a mistake that would break the guarantee, and the test that finds it. A file holds one:
//
//	what: The Gaussian noise of a profile has half its scale.
//	kind: property
//	module: engines/beam
//	package: ./internal/private/table/global
//	test: TestName
//	panics: yes
//	-- old internal/private/table/global/sums.go --
//	the code as it is
//	-- new --
//	the code with the bug
//
// There may be several pairs of old and new. The module is the root's if none is named, and
// the package is relative to it. The test may have a subtest, TestName/of_a_part. Only where
// the file says so, a test that ends by a panic counts as one that fails.
type bug struct {
	name, what, kind  string
	module, pkg, test string
	panics            bool
	edits             []edit
}

// edit is a change of one file, whose path is relative to the root.
type edit struct{ file, old, new string }

// packageName is the package's path from the root.
func (b bug) packageName() string { return path.Join(b.module, b.pkg) }

// readAll reads every bug, sorted by name.
func readAll(fsys fs.FS) ([]bug, error) {
	names, err := fs.Glob(fsys, "bugs/*.bug")
	if err != nil {
		return nil, err
	}
	var bugs []bug
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		b, err := read(string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b.name = strings.TrimSuffix(path.Base(name), ".bug")
		bugs = append(bugs, b)
	}
	return bugs, nil
}

var marker = regexp.MustCompile(`(?m)^-- (?:old (\S+)|new) --\n`)

// read reads a bug from its file.
func read(text string) (bug, error) {
	var b bug
	marks := marker.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 || len(marks)%2 != 0 {
		return b, errors.New("needs pairs of -- old FILE -- and -- new --")
	}
	if err := b.header(text[:marks[0][0]]); err != nil {
		return b, err
	}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		block := strings.TrimSuffix(text[m[1]:end], "\n")
		isOld := m[2] >= 0
		if isOld != (i%2 == 0) {
			return b, errors.New("old and new have to alternate")
		}
		if isOld {
			b.edits = append(b.edits, edit{file: text[m[2]:m[3]], old: block})
		} else {
			b.edits[len(b.edits)-1].new = block
		}
	}
	return b, nil
}

func (b *bug) header(text string) error {
	fields := map[string]*string{"what": &b.what, "kind": &b.kind, "module": &b.module, "package": &b.pkg, "test": &b.test}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		field := fields[name]
		switch {
		case ok && name == "panics" && value == "yes":
			b.panics = true
		case !ok || field == nil || *field != "":
			return fmt.Errorf("cannot read the line %q", line)
		default:
			*field = value
		}
	}
	switch {
	case b.what == "" || b.pkg == "" || b.test == "":
		return errors.New("needs what, package and test")
	case !slices.Contains(kinds, b.kind):
		return fmt.Errorf("kind %q is none of %s", b.kind, strings.Join(kinds, ", "))
	}
	return nil
}

// apply returns the files that the bug changes, with their new contents.
func (b bug) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range b.edits {
		text, ok := changed[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		switch n := strings.Count(text, e.old); {
		case e.old == "" || e.old == e.new:
			return nil, errors.New("an edit changes nothing")
		case n != 1:
			return nil, fmt.Errorf("its lines are %d times in %s and have to be there once:\n%s", n, e.file, e.old)
		}
		changed[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return changed, nil
}

// applies reports bugs whose lines or tests are no longer there.
func applies(root string, bugs []bug) error {
	var problems []error
	for _, b := range bugs {
		if _, err := b.apply(root); err != nil {
			problems = append(problems, fmt.Errorf("tools/planted/bugs/%s.bug no longer fits the code: %w", b.name, err))
		}
		found, err := b.hasTest(root)
		if err != nil || !found {
			problems = append(problems, errors.Join(fmt.Errorf("tools/planted/bugs/%s.bug: there is no %s in %s", b.name, b.test, b.packageName()), err))
		}
	}
	return errors.Join(problems...)
}

// hasTest reports whether the bug's test is in its package.
func (b bug) hasTest(root string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(root, b.module, b.pkg, "*_test.go"))
	if err != nil {
		return false, err
	}
	top, _, _ := strings.Cut(b.test, "/")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if strings.Contains(string(data), "func "+top+"(") {
			return true, nil
		}
	}
	return false, nil
}
