package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platforms are the tags of what the program is built for. It is static, so that it runs with any
// C library of Linux, or none; Go asks for macOS 12.
var platforms = map[string][]string{
	"linux/amd64":   {"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"},
	"darwin/amd64":  {"macosx_12_0_x86_64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
	"windows/arm64": {"win_arm64"},
}

// epoch is the time of every file: the first that a ZIP file can state.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// A wheel on its way.
type wheel struct {
	project
	version, platform string
	entries           []entry
}

type entry struct {
	name    string
	content []byte
	program bool
}

// stem is the beginning of the wheel's file name and of its folders' names.
func (w *wheel) stem() string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(w.Name) + "-" + w.version
}

func (w *wheel) file() string {
	return w.stem() + "-py3-none-" + strings.Join(platforms[w.platform], ".") + ".whl"
}

func (w *wheel) add(name string, content []byte) {
	w.entries = append(w.entries, entry{name: name, content: content})
}

// collect reads what goes into the wheel: the package, the program and what is said about them.
func (w *wheel) collect(source, program, licence string) error {
	tags, known := platforms[w.platform]
	if !known {
		return fmt.Errorf("there is no tag for %s", w.platform)
	}
	root := os.DirFS(filepath.Join(source, "src"))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if d.Name() == "__pycache__" || strings.HasSuffix(d.Name(), ".egg-info") {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".py" && path.Base(name) != "py.typed":
			return fmt.Errorf("%s is neither Python nor py.typed", name)
		}
		content, err := fs.ReadFile(root, name)
		w.add(name, content)
		return err
	})
	if err != nil {
		return err
	}
	if len(w.entries) == 0 {
		return fmt.Errorf("there is no package in %s/src", source)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	command := "sotto"
	if strings.HasPrefix(w.platform, "windows/") {
		command += ".exe"
	}
	w.entries = append(w.entries, entry{w.stem() + ".data/scripts/" + command, binary, true})
	readme, err := os.ReadFile(filepath.Join(source, w.Readme))
	if err != nil {
		return err
	}
	info := w.stem() + ".dist-info/"
	w.add(info+"METADATA", []byte(w.metadata(w.version, string(readme), licence != "")))
	about := "Wheel-Version: 1.0\nGenerator: sotto tools/wheel\nRoot-Is-Purelib: false\n"
	for _, tag := range tags {
		about += "Tag: py3-none-" + tag + "\n"
	}
	w.add(info+"WHEEL", []byte(about))
	if licence != "" {
		text, err := os.ReadFile(licence)
		if err != nil {
			return err
		}
		w.add(info+"licenses/LICENSE", text)
	}
	return nil
}

// pack is the file. The list of files comes last, as the standard recommends.
func (w *wheel) pack() ([]byte, error) {
	info := w.stem() + ".dist-info/"
	slices.SortFunc(w.entries, func(a, b entry) int {
		if last := strings.HasPrefix(a.name, info); last != strings.HasPrefix(b.name, info) {
			if last {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	var record strings.Builder
	for _, e := range w.entries {
		sum := sha256.Sum256(e.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range append(slices.Clone(w.entries), entry{name: info + "RECORD", content: []byte(record.String())}) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: epoch}
		h.SetMode(0o644)
		if e.program {
			h.SetMode(0o755)
		}
		f, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
