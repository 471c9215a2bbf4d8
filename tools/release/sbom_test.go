package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSBOM: the list has what SPDX requires, every module with its sum, and the licences that
// docs/dependencies.md states.
func TestSBOM(t *testing.T) {
	src, p := built(t)
	data, err := sbom(src, p, &licenceReader{})
	if err != nil {
		t.Fatal(err)
	}
	var doc spdxDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"version", doc.Version, "SPDX-2.3"},
		{"licence of the data", doc.DataLicense, "CC0-1.0"},
		{"identifier", doc.ID, "SPDXRef-DOCUMENT"},
		{"time", doc.CreationInfo.Created, src.date.Format(time.RFC3339)},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	if doc.Name == "" || len(doc.CreationInfo.Creators) == 0 {
		t.Errorf("got the name %q and the creators %q, want both", doc.Name, doc.CreationInfo.Creators)
	}
	if got := doc.DocumentNamespace; !strings.HasPrefix(got, "https://") {
		t.Errorf("namespace: got %q, want an address", got)
	}
	known := map[string]spdxPackage{}
	ids := map[string]bool{"SPDXRef-DOCUMENT": true}
	for _, part := range doc.Packages {
		known[part.Name] = part
		if ids[part.ID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(part.ID) {
			t.Errorf("the identifier %s is wrong or there twice", part.ID)
		}
		ids[part.ID] = true
		if part.LicenseDeclared == spdxUnknown || part.Version == "" {
			t.Errorf("%s: got the licence %q and the version %q, want both", part.Name, part.LicenseDeclared, part.Version)
		}
		if len(part.ExternalRefs) != 1 {
			t.Errorf("%s: references: got %+v, want one", part.Name, part.ExternalRefs)
		}
		if part.Purpose == "LIBRARY" && part.Name != "stdlib" && !strings.Contains(part.SourceInfo, " h1:") {
			t.Errorf("%s has no sum", part.Name)
		}
	}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%+v is about nothing", r)
		}
	}
	if len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("relationships: got %d, want one for each of %d packages", len(doc.Relationships), len(doc.Packages))
	}
	if known["stdlib"].Version == "" {
		t.Error("the standard library has no version")
	}
	if got := known["sotto"].Checksums[0].Algorithm; got != "SHA256" {
		t.Errorf("algorithm of the checksum: got %s, want SHA256", got)
	}
	page, err := os.ReadFile(filepath.Join(checkout, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, _, _ := strings.Cut(string(page), "\n## Written here")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(program, -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows in docs/dependencies.md", len(rows))
	}
	for _, row := range rows {
		// A library with parts under other licences has more than the page names.
		for licence := range strings.SplitSeq(row[2], ", ") {
			if part, ok := known[row[1]]; !ok || !slices.Contains(strings.Split(part.LicenseDeclared, " AND "), licence) {
				t.Errorf("docs/dependencies.md gives %s the licence %s, its source %q", row[1], licence, part.LicenseDeclared)
			}
		}
	}
}

func TestLicence(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                                               "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person\nobtaining a copy":                             "MIT",
		"Redistribution and use in source and binary forms … Neither the name … endorse or promote products":        "BSD-3-Clause",
		"Redistribution and use in source and binary forms":                                                         "BSD-2-Clause",
		"Mozilla Public License Version 2.0":                                                                        "MPL-2.0",
		"Permission to use, copy, modify, and distribute this software for any purpose":                             "ISC",
		"Apache License Version 2.0 … Permission is hereby granted, free of charge, to any person obtaining a copy": "Apache-2.0 AND MIT",
		"All rights reserved.": spdxUnknown,
	} {
		if got := licenceOf(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
