package certificate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/privacy"
)

// issued returns a release on disk with a certificate by the test key.
func issued(t *testing.T) (dir string, o VerifyOptions) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "release")
	for name, content := range testFiles {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	signer := testSigner(t)
	c := testClaim(t)
	c.Subjects = nil
	if _, err := Issue(dir, c, basic{}, signer); err != nil {
		t.Fatal(err)
	}
	return dir, options(signer)
}

func verifyDir(t *testing.T, dir string, o VerifyOptions) *Report {
	t.Helper()
	r, err := VerifyDir(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIssueAndVerifyOnDisk(t *testing.T) {
	dir, o := issued(t)
	if r := verifyDir(t, dir, o); !r.OK {
		t.Error(failing(r))
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

func TestCertificatesAreNotOverwritten(t *testing.T) {
	dir, _ := issued(t)
	path := filepath.Join(dir, FileName)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, old); err != nil {
		t.Errorf("the same certificate again: %v", err)
	}
	c := testClaim(t)
	c.Delta /= 2
	if _, err := Issue(dir, c, basic{}, testSigner(t)); err == nil || !strings.Contains(err.Error(), "choose a new directory") {
		t.Errorf("another certificate: %v", err)
	}
	if err := Write(dir, []byte("{}\n")); err == nil {
		t.Error("something else was written")
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != string(old) {
		t.Error("the certificate changed")
	}
	if err := Write(filepath.Join(dir, "absent"), old); err == nil {
		t.Error("written into a directory that does not exist")
	}
}

func TestFilesOnDisk(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"changed", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "demos.jsonl"), []byte("{}"), 0o644)
		}, "files: demos.jsonl was changed"},
		{"missing", func(dir string) error { return os.Remove(filepath.Join(dir, "demos.jsonl")) }, "files: demos.jsonl: "},
		{"folder missing", func(dir string) error {
			return os.RemoveAll(filepath.Join(dir, "extra"))
		}, "files: extra/notes.json: "},
		{"a directory", func(dir string) error {
			path := filepath.Join(dir, "demos.jsonl")
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o755)
		}, "files: demos.jsonl: it is not a regular file"},
		{"link to a copy outside", func(dir string) error { return linkOut(dir, "demos.jsonl") }, "files: demos.jsonl: it is not a regular file"},
		{"link to a copy inside", func(dir string) error {
			path := filepath.Join(dir, "demos.jsonl")
			if err := os.Rename(path, filepath.Join(dir, "copy")); err != nil {
				return err
			}
			return os.Symlink("copy", path)
		}, "files: demos.jsonl: it is not a regular file"},
		{"folder is a link outside", func(dir string) error { return linkOut(dir, "extra") }, "files: extra/notes.json: its folder extra"},
		{"certificate is a link outside", func(dir string) error { return linkOut(dir, FileName) }, "envelope: certificate.json: it is not a regular file"},
		{"certificate missing", func(dir string) error { return os.Remove(filepath.Join(dir, FileName)) }, "envelope: certificate.json: "},
	} {
		dir, o := issued(t)
		if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		if got := failing(verifyDir(t, dir, o)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// linkOut moves a file out of the release and leaves a symbolic link to it, so
// that the content still fits.
func linkOut(dir, name string) error {
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := os.Rename(filepath.Join(dir, name), outside); err != nil {
		return err
	}
	return os.Symlink(outside, filepath.Join(dir, name))
}

func TestLinksAreNotReleased(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := HashFiles(dir); err == nil {
		t.Error("a symbolic link became a subject")
	}
	if _, err := HashFiles(filepath.Join(dir, "absent")); err == nil {
		t.Error("a directory that does not exist was hashed")
	}
}

// TestUnlistedFiles: files that the certificate does not cover are all named, as a
// warning; where warnings count, the release does not hold.
func TestUnlistedFiles(t *testing.T) {
	dir, o := issued(t)
	if r := verifyDir(t, dir, o); len(r.Unlisted) > 0 {
		t.Errorf("unlisted: %q", r.Unlisted)
	}
	extra := []string{"extra/a", "extra/b", "extra/c", "extra/d", "extra/e", "raw.jsonl"}
	for _, name := range extra {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := verifyDir(t, dir, o)
	if !slices.Equal(r.Unlisted, extra) {
		t.Errorf("unlisted: %q, not %q", r.Unlisted, extra)
	}
	c := r.Checks[5]
	expect.Equal(t, "r.OK", r.OK, true)
	expect.Equal(t, "c.Name", c.Name, "unlisted files")
	expect.Equal(t, "c.Warning", c.Warning, true)
	expect.Contains(t, "c.Detail", c.Detail, `"extra/a"`)
	expect.Contains(t, "c.Detail", c.Detail, "and 1 more")
	o.Strict = true
	if r = verifyDir(t, dir, o); r.OK || !strings.HasPrefix(failing(r), "unlisted files: ") {
		t.Errorf("strict: ok %v, %q", r.OK, failing(r))
	}
}

func TestDeltaWarning(t *testing.T) {
	signer := testSigner(t)
	for _, c := range []struct {
		delta   float64
		warning bool
	}{{1.0 / 4096, true}, {1.0 / 12288, true}, {1.0 / 12289, false}, {0, false}} {
		claim := testClaim(t)
		claim.Delta = c.delta
		r := verifyFS(t, release(sealClaim(t, claim, basic{}, signer)), options(signer))
		at := expect.At(t, "δ = %v of 12288 records", c.delta)
		expect.Equal(at, "r.OK", r.OK, true)
		expect.Equal(at, "r.Checks[9].Name", r.Checks[9].Name, "delta")
		expect.Equal(at, "r.Checks[9].Warning", r.Checks[9].Warning, c.warning)
	}
}

func TestFixedSizeSampling(t *testing.T) {
	signer := testSigner(t)
	claim := testClaim(t)
	claim.Adjacency = privacy.ReplaceOne
	claim.Events = []privacy.Event{mustParse(t, "fixedsize(4096, 16, pure(1))"), mustParse(t, "fixedsize(12288, 16, pure(1))")}
	claim.Samplers = []Sampler{SampleFixedSize}
	if r := verifyFS(t, release(sealClaim(t, claim, basic{}, signer)), options(signer)); !r.OK || r.Recomputed.Upper != 4 {
		t.Errorf("%q, ε %v", failing(r), r.Recomputed)
	}
}

func TestUnknownKey(t *testing.T) {
	data := sealClaim(t, testClaim(t), basic{}, freshSigner(t))
	r := verifyFS(t, release(data), options(testSigner(t)))
	if got := failing(r); !strings.HasPrefix(got, "signature: key ") || !strings.Contains(got, "not among the 1 trusted") {
		t.Errorf("got %q", got)
	}
	expect.True(t, "no r.Predicate", r.Predicate == nil)
	expect.True(t, "no r.Subjects", r.Subjects == nil)
	expect.Equal(t, "r.Key", r.Key, "")
	if len(r.Checks) != len(checkNames) {
		t.Errorf("%d checks of %d are listed", len(r.Checks), len(checkNames))
	}
}

// TestKeyIDOfAnother: the key ID is a hint and proves nothing.
func TestKeyIDOfAnother(t *testing.T) {
	thief, owner := freshSigner(t), testSigner(t)
	data := string(sealClaim(t, testClaim(t), basic{}, thief))
	data = strings.Replace(data, thief.Public().ID(), owner.Public().ID(), 1)
	if got := failing(verifyFS(t, release([]byte(data)), options(owner, thief))); !strings.HasPrefix(got, "signature: the signature does not fit") {
		t.Errorf("got %q", got)
	}
}

func TestKeyStatus(t *testing.T) {
	signer := testSigner(t)
	good := release(sealClaim(t, testClaim(t), basic{}, signer))
	day := 24 * time.Hour
	for _, c := range []struct {
		name   string
		change func(*Key)
		want   string
	}{
		{"trusted", func(*Key) {}, ""},
		{"valid until later", func(k *Key) { k.ValidUntil = testTime.Add(day) }, ""},
		{"valid until that day", func(k *Key) { k.ValidUntil = testTime }, ""},
		{"expired", func(k *Key) { k.ValidUntil = testTime.Add(-day) }, "date: key " + signer.Public().ID() + " has expired"},
		{"revoked later", func(k *Key) { k.Revoked, k.Reason = testTime.Add(day), "laptop stolen" }, "signature: key " + signer.Public().ID() + " was revoked on 2025-03-02: laptop stolen"},
	} {
		k := newKey(signer.Public())
		c.change(&k)
		o := options(signer)
		o.Trust = &Trust{}
		o.Trust.add(k)
		r := verifyFS(t, good, o)
		at := expect.At(t, "%s: %q", c.name, failing(r))
		expect.Equal(at, "r.OK", r.OK, c.want == "")
		expect.Prefix(at, "failing(r)", failing(r), c.want)
	}
}

func TestFutureDate(t *testing.T) {
	signer := testSigner(t)
	o := options(signer)
	o.Now = testTime.Add(-48 * time.Hour)
	if r := verifyFS(t, release(sealClaim(t, testClaim(t), basic{}, signer)), o); !r.OK || !r.Checks[3].Warning {
		t.Errorf("got %+v", r.Checks[3])
	}
}

func TestVerifyOptionsErrors(t *testing.T) {
	signer := testSigner(t)
	for name, o := range map[string]VerifyOptions{
		"no trust":     {Evaluator: basic{}},
		"empty trust":  {Trust: NewTrust(), Evaluator: basic{}},
		"no evaluator": {Trust: NewTrust(signer.Public())},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Verify(fstest.MapFS{}, o); err == nil {
				t.Error("accepted")
			}
		})
	}
	if _, err := VerifyDir(filepath.Join(t.TempDir(), "absent"), options(signer)); err == nil {
		t.Error("a directory that does not exist was verified")
	}
}

func TestMergeKeepsTheWorseNews(t *testing.T) {
	trusted := newKey(testSigner(t).Public())
	early, late, revoked := trusted, trusted, trusted
	early.ValidUntil, late.ValidUntil, revoked.Revoked = testTime, testTime.Add(24*time.Hour), testTime
	order := []Key{trusted, late, early, revoked}
	for i, a := range order {
		for j, b := range order {
			s, o := &Trust{}, &Trust{}
			s.add(a)
			o.add(b)
			s.Merge(o)
			if got := s.Keys(); len(got) != 1 || got[0] != order[max(i, j)] {
				t.Errorf("%v and %v give %v", a, b, got)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	dir, o := issued(t)
	report := verifyDir(t, dir, o)
	files := os.DirFS(dir)
	name := report.Subjects[0].Name
	if data, err := report.ReadFile(files, name); err != nil || len(data) == 0 {
		t.Fatalf("%q, %v", data, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "beside"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report.ReadFile(files, "beside"); err == nil {
		t.Error("a file that nobody signed is read")
	}
	if _, err := report.ReadFile(files, FileName); err == nil {
		t.Error("the certificate is taken for a file that it covers")
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("changed since"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report.ReadFile(files, name); err == nil {
		t.Error("a file that was changed is read")
	}
	report.OK = false
	if _, err := report.ReadFile(files, name); err == nil || !strings.Contains(err.Error(), "does not hold") {
		t.Error(err)
	}
}
