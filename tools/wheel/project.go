package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// project is what pyproject.toml says of the distribution.
type project struct {
	Name           string              `toml:"name"`
	Dynamic        []string            `toml:"dynamic"`
	Description    string              `toml:"description"`
	Readme         string              `toml:"readme"`
	RequiresPython string              `toml:"requires-python"`
	License        string              `toml:"license"`
	Keywords       []string            `toml:"keywords"`
	Classifiers    []string            `toml:"classifiers"`
	Optional       map[string][]string `toml:"optional-dependencies"`
}

func readProject(path string) (project, error) {
	var file struct {
		Project project `toml:"project"`
	}
	meta, err := toml.DecodeFile(path, &file)
	if err != nil {
		return project{}, fmt.Errorf("%s: %w", path, err)
	}
	for _, key := range meta.Undecoded() {
		if key[0] == "project" {
			return project{}, fmt.Errorf("%s: this tool does not write %s: add it to project.go", path, key)
		}
	}
	if p := file.Project; p.Name == "" || p.Description == "" || p.Readme == "" || p.RequiresPython == "" || p.License == "" {
		return project{}, fmt.Errorf("%s: [project] needs name, description, readme, requires-python and license", path)
	}
	return file.Project, nil
}

// metadata is the file METADATA, in the version of the core metadata that has licence expressions.
func (p project) metadata(version, readme string, licensed bool) string {
	var b strings.Builder
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) }
	field("Metadata-Version", "2.4")
	field("Name", p.Name)
	field("Version", version)
	field("Summary", p.Description)
	if len(p.Keywords) > 0 {
		field("Keywords", strings.Join(p.Keywords, ","))
	}
	field("License-Expression", p.License)
	if licensed {
		field("License-File", "LICENSE")
	}
	for _, c := range p.Classifiers {
		field("Classifier", c)
	}
	field("Requires-Python", p.RequiresPython)
	for _, extra := range slices.Sorted(maps.Keys(p.Optional)) {
		field("Provides-Extra", extra)
		for _, requirement := range p.Optional[extra] {
			field("Requires-Dist", fmt.Sprintf("%s; extra == %q", requirement, extra))
		}
	}
	field("Description-Content-Type", "text/markdown")
	return b.String() + "\n" + readme
}

var described = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)((?:a|b|rc)\d+)?(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)

// normalVersion turns what "git describe" prints into a version of PEP 440. A commit after a tag
// is a post-release, and one without any is 0.0.0; both name the commit.
func normalVersion(v string) string {
	m := described.FindStringSubmatch(v)
	if m == nil {
		local := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(v), "."), ".")
		return "0.0.0+g" + local
	}
	normal, local := m[1]+m[2], []string{}
	if m[3] != "" {
		normal += ".post" + m[3]
		local = append(local, "g"+m[4])
	}
	if m[5] != "" {
		local = append(local, "dirty")
	}
	if len(local) > 0 {
		normal += "+" + strings.Join(local, ".")
	}
	return normal
}
