package private_test

import (
	"slices"
	"strings"
	"testing"
)

// plumbing are the packages of ours, outside of privacy/, that those in it may import, and why. None
// of them imports another of ours outside of this list: so what describes, spends and states privacy
// can be read without the rest, and knows no record and no model.
var plumbing = map[string]string{
	"internal/sys/bounded": "bounds what is read from a file or a database before it is decoded",
	"internal/sys/durable": "puts whole files in place, on disk",
	"internal/sys/fault":   "turns a panic of a goroutine into an error",
	"internal/sys/pgtls":   "has PostgreSQL beyond this machine use TLS",
}

// TestPrivacyStandsAlone: packages below privacy/ depend on each other, on the packages in the list,
// and on nothing else of ours; the package privacy itself, which says what a guarantee means,
// depends on none.
func TestPrivacyStandsAlone(t *testing.T) {
	used, found := map[string]bool{}, 0
	for _, p := range packages(t) {
		if !under(p.ImportPath, module+"/privacy") {
			continue
		}
		found++
		for _, i := range p.Deps {
			below, ours := strings.CutPrefix(i, module+"/")
			switch _, fine := plumbing[below]; {
			case !ours && i != module, under(i, module+"/privacy") && p.ImportPath != module+"/privacy":
			case fine && p.ImportPath != module+"/privacy":
				used[below] = used[below] || slices.Contains(p.Imports, i)
			default:
				t.Errorf("%s depends on %s: what is below privacy/ stands alone but for a list in this test, with reasons", p.ImportPath, i)
			}
		}
	}
	if found < 8 {
		t.Errorf("%d packages below privacy/: the test shows little", found)
	}
	for path := range plumbing {
		if !used[path] {
			t.Errorf("nothing below privacy/ imports %s: take it off the list", path)
		}
	}
}
