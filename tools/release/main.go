// Command release builds what is published of a version into a folder: the program for every
// platform as an archive and as a Python wheel, a list of what is inside each program (SPDX),
// checksums, a statement of how all of it was built, and a signature.
//
//	release [-out DIR] [-version V] [-platforms LIST] [-key FILE] ROOT
//
// ROOT is the checkout. The same commit and the same version of Go give the same bytes, on any
// machine and in any folder: times are those of SOURCE_DATE_EPOCH, or else of the commit.
//
// -key names the Ed25519 key that signs, in PEM form, such as "openssl genpkey -algorithm ed25519"
// writes. Without it nothing is signed.
package main

import (
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// platforms are those that a release is for.
var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

func main() {
	var (
		out     = flag.String("out", "dist/release", "write the release into this folder, which is emptied first")
		version = flag.String("version", "", "the version (default: what git describes)")
		only    = flag.String("platforms", "", "build only these, as linux/amd64,darwin/arm64 (default: all)")
		key     = flag.String("key", "", "sign with the Ed25519 key in this file")
	)
	flag.Parse()
	if err := run(options{root: flag.Arg(0), out: *out, version: *version, only: *only, key: *key}); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type options struct{ root, out, version, only, key string }

func run(o options) error {
	if o.root == "" {
		return errors.New("name the folder of the checkout")
	}
	wanted, err := chosen(o.only)
	if err != nil {
		return err
	}
	var signer ed25519.PrivateKey
	if o.key != "" {
		if signer, err = readKey(o.key); err != nil {
			return err
		}
	}
	src, err := readSource(o.root, o.version)
	if err != nil {
		return err
	}
	if src.modified {
		fmt.Println("the checkout has changes that are not committed: nobody else can build this release again")
	}
	programs, err := buildAll(src, wanted)
	if err != nil {
		return err
	}
	made, err := assemble(src, programs)
	if err != nil {
		return err
	}
	if err := made.write(o.out, signer); err != nil {
		return err
	}
	made.report(o.out, signer != nil)
	return nil
}

// chosen reads a list of platforms; all if it is empty.
func chosen(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var out []platform
	for name := range strings.SplitSeq(list, ",") {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("%q is no platform: write it as linux/amd64", name)
		}
		out = append(out, platform{system, arch})
	}
	return out, nil
}

// assemble packs programs into the files of a release.
func assemble(src *source, programs []program) (*release, error) {
	r := &release{src: src}
	pages, err := documents(src, programs)
	if err != nil {
		return nil, err
	}
	licences := licenceReader{}
	for _, p := range programs {
		name := fmt.Sprintf("sotto_%s_%s_%s", src.version, p.system, p.arch)
		files := append([]file{{name: "sotto" + p.extension(), mode: 0o755, data: p.data}}, pages...)
		if err := r.add(name + ".tar.gz")(tarGz(name, files, src.date)); err != nil {
			return nil, err
		}
		if err := r.add(name + ".spdx.json")(sbom(src, p, &licences)); err != nil {
			return nil, err
		}
		if err := r.wheel(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// wheel adds the program as a Python wheel, with its client.
func (r *release) wheel(p program) error {
	dir, err := os.MkdirTemp("", "sotto-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "sotto"), p.data, 0o755); err != nil {
		return err
	}
	cmd := command(filepath.Join(r.src.root, "tools"), "go", "run", "-buildvcs=false", "./wheel",
		"-python", filepath.Join(r.src.root, "python"), "-program", filepath.Join(dir, "sotto"), "-licence", filepath.Join(r.src.root, "LICENSE"),
		"-version", r.src.version, "-platform", p.String(), "-out", filepath.Join(dir, "out"))
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return failed("the wheel for "+p.String(), err)
	}
	path := strings.TrimSpace(string(out))
	return r.add(filepath.Base(path))(os.ReadFile(path))
}

// release is the files that are published.
type release struct {
	src   *source
	files []file
}

// add adds a file that a function made.
func (r *release) add(name string) func([]byte, error) error {
	return func(data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.files = append(r.files, file{name: name, mode: 0o644, data: data})
		return nil
	}
}

// write empties the folder and writes the files with checksums, statement and signature.
func (r *release) write(dir string, signer ed25519.PrivateKey) error {
	statement, err := provenance(r.src, r.files)
	if err != nil {
		return err
	}
	files := append(r.files, file{name: "provenance.json", mode: 0o644, data: statement})
	sums := checksums(files)
	files = append(files, file{name: sumsFile, mode: 0o644, data: sums})
	if signer != nil {
		files = append(files, file{name: sumsFile + ".sig", mode: 0o644, data: ed25519.Sign(signer, sums)})
	}
	if err := empty(dir); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, f.mode); err != nil {
			return err
		}
	}
	r.files = files
	return nil
}

// empty makes a folder, or removes what an earlier release left in it. It touches no folder that
// is not one of a release.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(dir, 0o755)
	} else if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil {
		return fmt.Errorf("%s has files and no %s, so it is no release: name another folder", dir, sumsFile)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) report(dir string, signed bool) {
	fmt.Printf("sotto %s, commit %s of %s\n", r.src.version, r.src.commit, r.src.date.Format("2006-01-02 15:04:05Z"))
	for _, f := range r.files {
		fmt.Printf("  %-44s %10d bytes\n", f.name, len(f.data))
	}
	if !signed {
		fmt.Printf("%s is NOT signed: nobody can see whose it is. Name a key: make release KEY=FILE\n", dir)
	}
}
