package main

import (
	"bytes"
	"fmt"
	"strings"
)

// table is the page with all bugs.
func table(bugs []bug) []byte {
	count := map[string]int{}
	for _, b := range bugs {
		count[b.kind]++
	}
	var words []string
	for _, k := range kinds {
		if n := count[k]; n > 0 {
			words = append(words, fmt.Sprintf("%s %d", k, n))
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `# Planted privacy bugs

`+"`make planted`"+` wrote this page. It builds the program with one privacy bug at a time and runs
the test that has to fail then: a bug counts as caught if the program compiles with it, the
test fails, and the same test passes without it. All %d are caught, by kind of check:
%s.

`+"`make test`"+` sees that every bug still fits the code. The bugs
are in tools/planted/bugs, a file each; to add one, copy a file.

Kinds: a *unit test* looks at one case, a *property* at many random ones or at a law of
probability, *brute force* compares exact chances of all outcomes in tiny worlds with the
charge, an *audit* bounds ε from below by what comes out, and *verify* checks what is signed.

| bug | where | kind | caught by |
|---|---|---|---|
`, len(bugs), strings.Join(words, ", "))
	for _, b := range bugs {
		fmt.Fprintf(&out, "| %s | `%s` | %s | `%s.%s` |\n", strings.TrimSuffix(b.what, "."), b.edits[0].file, b.kind, b.packageName(), b.test)
	}
	return out.Bytes()
}
