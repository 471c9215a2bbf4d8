package main

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecture compares the picture in docs/architecture.md with the imports of the
// code: boxes are folders, every arrow is an import, and no import between two boxes goes
// another way than along the arrows.
func TestArchitecture(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{} // folder to box
	for _, m := range regexp.MustCompile(`(?m)^    (\w+)\["([^<"]+)<br>`).FindAllStringSubmatch(string(page), -1) {
		for _, folder := range strings.Split(m[2], ", ") {
			if folder == "sotto" {
				folder = "."
			}
			if _, err := os.Stat(path.Join("../..", folder)); err != nil {
				t.Errorf("the picture shows %s: %v", folder, err)
			}
			folders[folder] = m[1]
		}
	}
	below := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^    (\w+) --> (\w+)$`).FindAllStringSubmatch(string(page), -1) {
		if below[m[1]] == nil {
			below[m[1]] = map[string]bool{}
		}
		below[m[1]][m[2]] = false // until an import is seen
	}
	if len(folders) < 15 || len(below) < 10 {
		t.Fatalf("%d folders and arrows from %d boxes: is there a picture?", len(folders), len(below))
	}

	// box returns that of the nearest folder above a package; the front door has only itself.
	const module = "github.com/sotto-dp/sotto"
	box := func(pkg string) string {
		folder := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		if folder == "" {
			return folders["."]
		}
		for ; folder != "."; folder = path.Dir(folder) {
			if b := folders[folder]; b != "" {
				return b
			}
		}
		return ""
	}
	list := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...", "./lab/...", "./engines/beam/...")
	list.Dir = "../.."
	list.Env = append(os.Environ(), "GOWORK=auto")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var along func(from, to string, seen map[string]bool) bool
	along = func(from, to string, seen map[string]bool) bool {
		if from == to {
			return true
		}
		seen[from] = true
		for next := range below[from] {
			if !seen[next] && along(next, to, seen) {
				return true
			}
		}
		return false
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		from := box(imports[0])
		for _, i := range imports[1:] {
			to := ""
			if i == module || strings.HasPrefix(i, module+"/") {
				to = box(i)
			}
			if from == "" || to == "" || from == to {
				continue
			}
			if _, drawn := below[from][to]; drawn {
				below[from][to] = true
			}
			if !along(from, to, map[string]bool{}) {
				t.Errorf("%s imports %s, and the picture has no way from %s to %s", imports[0], i, from, to)
			}
		}
	}
	for from, list := range below {
		for to, imported := range list {
			if !imported {
				t.Errorf("the picture has an arrow from %s to %s, and nothing there imports the other", from, to)
			}
		}
	}
}
