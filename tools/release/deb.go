package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// debPlaces says where Debian keeps what is beside the program.
func debPlaces(name string) string {
	switch {
	case strings.HasPrefix(name, "man1/"):
		return "usr/share/man/" + name + ".gz"
	case name == "completions/sotto.bash":
		return "usr/share/bash-completion/completions/sotto"
	case name == "completions/_sotto":
		return "usr/share/zsh/vendor-completions/_sotto"
	case name == "completions/sotto.fish":
		return "usr/share/fish/vendor_completions.d/sotto.fish"
	case name == "LICENSE":
		return "usr/share/doc/sotto/copyright"
	case name == "README.md":
		return "usr/share/doc/sotto/README.md"
	}
	return "" // PowerShell has no place
}

// debTag is what git describes: a tag, perhaps one of a release to come, commits since, changes.
var debTag = regexp.MustCompile(`^v?([0-9]+\.[0-9A-Za-z.]+)(?:-([0-9A-Za-z.]+))??(?:-([0-9]+)-(g[0-9a-f]+))?(-dirty)?$`)

// debVersion is the version in Debian's order, where v1.0-rc1 comes before v1.0 and commits after
// it come after it. What has no tag has the commit's time.
func debVersion(src *source) string {
	m := debTag.FindStringSubmatch(src.version)
	if m == nil {
		return "0~" + src.date.Format("20060102150405") + "." + strings.ReplaceAll(src.version, "-", ".")
	}
	v := m[1]
	if m[2] != "" {
		v += "~" + m[2]
	}
	if m[3] != "" {
		v += "+" + m[3] + "." + m[4]
	}
	return v + strings.Replace(m[5], "-", "+", 1)
}

// deb makes a Debian package: an ar archive of the format's version, control files, and the files.
// The program needs no library, so neither does the package.
func deb(src *source, p program, pages []file) ([]byte, error) {
	files := []file{{name: "usr/bin/sotto", mode: 0o755, data: p.data}}
	for _, f := range pages {
		place := debPlaces(f.name)
		if place == "" {
			continue
		}
		data := f.data
		if strings.HasSuffix(place, ".gz") {
			var err error
			if data, err = compress(data); err != nil {
				return nil, err
			}
		}
		files = append(files, file{name: place, mode: 0o644, data: data})
	}
	var sums bytes.Buffer
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		size += (len(f.data) + 1023) / 1024
	}
	control := fmt.Sprintf(`Package: sotto
Version: %s
Architecture: %s
Maintainer: The Sotto project <https://github.com/sotto-dp/sotto>
Installed-Size: %d
Recommends: ca-certificates
Section: science
Priority: optional
Homepage: https://github.com/sotto-dp/sotto
Description: differential privacy for few-shot examples
 Sotto makes demonstrations for language models from private text and tables,
 with a differential-privacy guarantee that anyone can check: a ledger enforces
 the budget, and a signed certificate states the guarantee.
`, debVersion(src), p.arch, size)
	controls, err := tarOf([]file{
		{name: "control", mode: 0o644, data: []byte(control)}, {name: "md5sums", mode: 0o644, data: sums.Bytes()},
	}, "./", src.date)
	if err != nil {
		return nil, err
	}
	data, err := tarOf(files, "./", src.date)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString("!<arch>\n")
	for _, part := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", controls}, {"data.tar.gz", data}} {
		if path.Ext(part.name) == ".gz" {
			if part.data, err = compress(part.data); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", part.name, src.date.Unix(), 0, 0, "100644", len(part.data))
		out.Write(part.data)
		if len(part.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}
