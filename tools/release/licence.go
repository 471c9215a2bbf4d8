package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// licenceReader finds the licences of modules in the module cache, each once.
type licenceReader map[string]string

// of returns the SPDX identifier of a module's licence, NOASSERTION if its text is not known here.
func (r *licenceReader) of(root string, m *debug.Module) (string, error) {
	key := m.Path + "@" + m.Version
	if known, ok := (*r)[key]; ok {
		return known, nil
	}
	dir, err := moduleDir(root, m)
	if err != nil {
		return "", err
	}
	found := spdxUnknown
	if dir != "" {
		found = licenceIn(dir)
	}
	(*r)[key] = found
	return found, nil
}

// moduleDir is where the source of a module is; "" if it is not on this machine.
func moduleDir(root string, m *debug.Module) (string, error) {
	if m.Path == "stdlib" {
		out, err := command(root, "go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), failed("go env", err)
	}
	cmd := command(root, "go", "mod", "download", "-json", m.Path+"@"+m.Version)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return "", failed("go mod download", err)
	}
	var at struct{ Dir string }
	if err := json.Unmarshal(out, &at); err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	return at.Dir, nil
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying)([-.](md|txt|mit|bsd|apache))?$`)
	spaces      = regexp.MustCompile(`\s+`)
)

// licenceIn reads the licence of the module in a folder.
func licenceIn(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return spdxUnknown
	}
	for _, e := range entries {
		if !licenceFile.MatchString(e.Name()) {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			return licenceOf(string(text))
		}
	}
	return spdxUnknown
}

// licenceOf recognises the licences that our libraries have by sentences that only they have. A text
// may hold several, for parts of a library: all apply.
func licenceOf(text string) string {
	text = strings.ToLower(spaces.ReplaceAllString(text, " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	var found []string
	if has("apache license version 2.0") || has("apache license, version 2.0") {
		found = append(found, "Apache-2.0")
	}
	switch forms := has("redistribution and use in source and binary forms"); {
	case forms && has("endorse or promote products"):
		found = append(found, "BSD-3-Clause")
	case forms:
		found = append(found, "BSD-2-Clause")
	}
	if has("permission to use, copy, modify, and/or distribute this software for any purpose") || has("permission to use, copy, modify, and distribute this software for any purpose") {
		found = append(found, "ISC")
	}
	if has("permission is hereby granted, free of charge, to any person obtaining a copy") {
		found = append(found, "MIT")
	}
	if has("mozilla public license version 2.0") {
		found = append(found, "MPL-2.0")
	}
	if len(found) == 0 {
		return spdxUnknown
	}
	return strings.Join(found, " AND ")
}
