package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinks: no page of the repository has a link that leads nowhere.
func TestLinks(t *testing.T) {
	n, err := check("../..")
	if err != nil {
		t.Error(err)
	}
	if n < 100 {
		t.Errorf("%d links: the repository has more", n)
	}
}

// TestBrokenLinks: each kind of link that leads nowhere is found, and named with its line.
func TestBrokenLinks(t *testing.T) {
	for link, want := range map[string]string{
		"[x](b.md)":                               "",
		"[x](b.md#δ-and-more)":                    "",
		"[x](b.md#twice-1)":                       "",
		"[x](#here)":                              "",
		"[x](../main.go)":                         "",
		"![x](p.svg)":                             "",
		"[x](https://example.org/a?b=c)":          "",
		"`[x](none.md)`":                          "",
		"[x](none.md)":                            "docs/a.md:3: none.md: docs/none.md is not there",
		"[x](b.md#none)":                          "docs/b.md has no heading #none",
		"[x](#none)":                              "docs/a.md has no heading #none",
		"[x](../../etc/passwd)":                   "leads out of the repository",
		"[x](https://)":                           "no address of the web",
		"[x](ftp://example.org/)":                 "no address of the web",
		"[x](../main.go#L3)":                      "has no heading",
		"| a |\n|---|\n| [in a table](none.md) |": "docs/a.md:5: none.md",
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"docs/a.md": "# Here\n\n" + link + "\n", "docs/b.md": "# B\n\n## δ, and *more*\n\n## Twice\n\n## Twice\n",
			"docs/p.svg": "<svg/>", "main.go": "package main\n",
		} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
		_, err := check(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", link, err, want)
		}
	}
}
