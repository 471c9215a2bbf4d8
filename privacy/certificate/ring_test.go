package certificate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-dp/sotto/sys/expect"
)

// testRing returns a ring whose clock moves on by an hour with each look at it.
func testRing(t *testing.T) *Ring {
	t.Helper()
	now := testTime
	r, err := createRing(filepath.Join(t.TempDir(), "keys"), func() time.Time {
		now = now.Add(time.Hour)
		return now
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustSigner(t *testing.T, r *Ring) *Signer {
	t.Helper()
	s, err := r.Signer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustRotate(t *testing.T, r *Ring) (KeyInfo, KeyInfo) {
	t.Helper()
	retired, active, err := r.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	return retired, active
}

// certified returns a release signed at a time, and the conclusion on it for a trust.
func certified(t *testing.T, s *Signer, at time.Time, trust *Trust) *Report {
	t.Helper()
	c := testClaim(t)
	c.Created = at
	o := VerifyOptions{Trust: trust, Evaluator: basic{}, Now: at}
	return verifyFS(t, release(sealClaim(t, c, basic{}, s)), o)
}

func TestRingLife(t *testing.T) {
	r := testRing(t)
	first := mustSigner(t, r)
	if info, err := os.Stat(r.privatePath(first.Public().ID())); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("private key: %v, %v", info, err)
	}
	if info, err := os.Stat(r.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info, err)
	}
	if _, err := r.Generate(); err == nil || !strings.Contains(err.Error(), "is active; rotate or revoke it") {
		t.Errorf("a second active key: %v", err)
	}

	retired, active := mustRotate(t, r)
	expect.Equal(t, "retired.ID", retired.ID, first.Public().ID())
	expect.Equal(t, "retired.Status", retired.Status, Retired)
	expect.Equal(t, "retired.Successor", retired.Successor, active.ID)
	expect.Equal(t, "active.Status", active.Status, Active)
	second := mustSigner(t, r)
	if second.Public().ID() != active.ID {
		t.Error("the retired key signs")
	}
	if _, err := os.Stat(r.privatePath(retired.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the retired private key is still there: %v", err)
	}
	if rep := certified(t, first, retired.Retired, r.Trust()); !rep.OK {
		t.Errorf("signed before retirement: %s", failing(rep))
	}
	if got := failing(certified(t, first, retired.Retired.Add(24*time.Hour), r.Trust())); !strings.HasPrefix(got, "date: key ") {
		t.Errorf("signed after retirement: %q", got)
	}
	if rep := certified(t, second, active.Created, r.Trust()); !rep.OK {
		t.Errorf("signed by the new key: %s", failing(rep))
	}

	if _, err := r.Revoke(active.ID[:8], "laptop stolen"); err != nil {
		t.Fatal(err)
	}
	if got := failing(certified(t, second, active.Created, r.Trust())); !strings.Contains(got, "was revoked on") || !strings.Contains(got, "laptop stolen") {
		t.Errorf("signed by a revoked key: %q", got)
	}
	if _, err := r.Signer(); err == nil || !strings.Contains(err.Error(), "no active key; generate one") {
		t.Errorf("signer without active key: %v", err)
	}
	if _, _, err := r.Rotate(); err == nil {
		t.Error("rotated without active key")
	}
	if _, err := r.Revoke(active.ID, "again"); err == nil {
		t.Error("revoked twice")
	}
	third, err := r.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Rotation(third.ID); err == nil {
		t.Error("a revoked key endorsed its successor")
	}

	again, err := OpenRing(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	got, want := again.Keys(), r.Keys()
	expect.Len(t, "got", got, 3)
	expect.Equal(t, "got[0]", got[0], want[0])
	expect.Equal(t, "got[1]", got[1], want[1])
	expect.Equal(t, "got[2]", got[2], want[2])
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) != 1+3+1+1 { // index, public keys, one private, one rotation
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

func TestRingLookup(t *testing.T) {
	r := testRing(t)
	id := r.Keys()[0].ID
	for _, p := range []string{id, id[:8], ""} {
		if k, err := r.Public(p); err != nil || k.ID() != id {
			t.Errorf("%q: %v, %v", p, k, err)
		}
	}
	for _, p := range []string{id[:7], "ffffffffff", id + "0"} {
		if _, err := r.Lookup(p); err == nil {
			t.Errorf("%q was found", p)
		}
		if _, err := r.Public(p); err == nil {
			t.Errorf("%q was found", p)
		}
		if _, err := r.Rotation(p); err == nil {
			t.Errorf("%q was found", p)
		}
	}
	if _, err := r.Revoke(id, ""); err == nil || !strings.Contains(err.Error(), "reason is empty") {
		t.Errorf("revoked without reason: %v", err)
	}
}

func TestRingsAreNotOverwritten(t *testing.T) {
	r := testRing(t)
	before := mustSigner(t, r).Public()
	if _, err := CreateRing(r.dir); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("created over a ring: %v", err)
	}
	if mustSigner(t, r).Public() != before {
		t.Error("the key changed")
	}
	if err := r.Export(r.dir); err == nil {
		t.Error("exported over itself")
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateRing(open); err == nil || !strings.Contains(err.Error(), "chmod 700 "+open) {
		t.Errorf("created where others write: %v", err)
	}
	if err := os.Chmod(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateRing(open); err != nil {
		t.Errorf("created in an empty directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CreateRing(file); err == nil {
		t.Error("created over a file")
	}
}

func TestRingExport(t *testing.T) {
	r := testRing(t)
	first := mustSigner(t, r)
	retired, _ := mustRotate(t, r)
	dir := filepath.Join(t.TempDir(), "public")
	if err := r.Export(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || strings.Contains(string(data), "PRIVATE") {
			t.Errorf("%s holds a private key, %v", e.Name(), err)
		}
	}
	trust, err := LoadTrust(dir)
	if err != nil {
		t.Fatal(err)
	}
	if rep := certified(t, first, retired.Retired, trust); !rep.OK {
		t.Error(failing(rep))
	}
	public, err := OpenRing(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := public.Signer(); err == nil || !strings.Contains(err.Error(), "export without private keys") {
		t.Errorf("an export signs: %v", err)
	}
	if _, _, err := public.Rotate(); err == nil {
		t.Error("an export rotates")
	}
}

func TestRingPermissions(t *testing.T) {
	r := testRing(t)
	id := r.Keys()[0].ID
	if err := os.Chmod(r.privatePath(id), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Signer(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("open key: %v", err)
	}
	if _, _, err := r.Rotate(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("rotation of an open key: %v", err)
	}
	if err := errors.Join(os.Chmod(r.privatePath(id), 0o600), os.Chmod(r.dir, 0o770)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Signer(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("open directory: %v", err)
	}
	if _, _, err := r.Rotate(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("rotation in an open directory: %v", err)
	}
	if err := os.Chmod(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if len(r.Keys()) != 1 {
		t.Errorf("failed changes left %v", r.Keys())
	}
	mustRotate(t, r)
}

// TestRingAfterCrashes puts the ring into each state that a crash can leave.
func TestRingAfterCrashes(t *testing.T) {
	// Before ring.json is replaced: key files that it does not name.
	r := testRing(t)
	id := r.Keys()[0].ID
	stray, private, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		createNew(r.privatePath(stray.Public().ID()), private, 0o600),
		createNew(r.publicPath(stray.Public().ID()), stray.Public().PEM(), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	again, err := OpenRing(r.dir)
	expect.NoError(t, err)
	expect.Len(t, "again.Keys", again.Keys(), 1)
	expect.Equal(t, "mustSigner(t, again).Public().ID", mustSigner(t, again).Public().ID(), id)
	if got := failing(certified(t, stray, testTime, r.Trust())); !strings.HasPrefix(got, "signature: ") {
		t.Errorf("a stray key is trusted: %q", got)
	}

	// After it, before the old private key is erased.
	kept, err := os.ReadFile(r.privatePath(id))
	if err != nil {
		t.Fatal(err)
	}
	_, active := mustRotate(t, r)
	if err := createNew(r.privatePath(id), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if mustSigner(t, r).Public().ID() != active.ID {
		t.Error("a retired key signs")
	}
	mustRotate(t, r)
	if _, err := os.Stat(r.privatePath(id)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next change does not erase it: %v", err)
	}

	// At any point: the lock.
	if err := createNew(r.path(lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Rotate(); err == nil || !strings.Contains(err.Error(), "remove "+r.path(lockFile)) {
		t.Errorf("locked: %v", err)
	}
	mustSigner(t, r)
	if err := os.Remove(r.path(lockFile)); err != nil {
		t.Fatal(err)
	}
	mustRotate(t, r)

	// While the first key is made.
	empty := t.TempDir()
	if err := os.Chmod(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	half := &Ring{dir: empty, now: time.Now}
	if err := half.writeIndex(); err != nil {
		t.Fatal(err)
	}
	if half, err = OpenRing(empty); err != nil {
		t.Fatal(err)
	}
	if _, err := half.Generate(); err != nil {
		t.Error(err)
	}
}

// TestRingFailedChange: a change that cannot be finished leaves nothing behind.
func TestRingFailedChange(t *testing.T) {
	r := testRing(t)
	before := r.Keys()
	failure := errors.New("disk full")
	err := r.change(func() error {
		if _, _, err := r.newKey(); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatalf("got %v", err)
	}
	if got := r.Keys(); len(got) != 1 || got[0] != before[0] {
		t.Errorf("keys are %v", got)
	}
	if entries, err := os.ReadDir(r.dir); err != nil || len(entries) != 3 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
	mustSigner(t, r)
}

func TestRingConcurrentRotations(t *testing.T) {
	r := testRing(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	rotations := 0
	for range 8 {
		wg.Go(func() {
			own, err := OpenRing(r.dir)
			if err != nil {
				t.Error(err)
				return
			}
			for range 4 {
				if _, _, err := own.Rotate(); err == nil {
					mu.Lock()
					rotations++
					mu.Unlock()
				} else if !strings.Contains(err.Error(), "another program is changing it") {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	again, err := OpenRing(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if rotations == 0 || len(again.Keys()) != rotations+1 {
		t.Errorf("%d rotations left %d keys", rotations, len(again.Keys()))
	}
	mustSigner(t, again)
}

func TestRingDamage(t *testing.T) {
	r := testRing(t)
	mustRotate(t, r)
	good, err := os.ReadFile(r.path(ringFile))
	if err != nil {
		t.Fatal(err)
	}
	ids := r.Keys()
	for name, data := range map[string]string{
		"empty":                 "",
		"cut short":             string(good[:len(good)-1]),
		"unknown field":         strings.Replace(string(good), `"format"`, `"x":1,"format"`, 1),
		"other format":          strings.Replace(string(good), ringFormat, "sotto-keyring-v2", 1),
		"two active":            strings.Replace(string(good), `"status":"retired"`, `"status":"active"`, 1),
		"unknown status":        strings.Replace(string(good), `"status":"retired"`, `"status":"fine"`, 1),
		"revoked for no reason": strings.Replace(string(good), `"status":"retired"`, `"status":"revoked"`, 1),
		"duplicate status":      strings.Replace(string(good), `"status":"retired"`, `"status":"retired","status":"active"`, 1),
		"key twice":             strings.Replace(string(good), ids[1].ID, ids[0].ID, -1),
		"no keys":               `{"format":"` + ringFormat + `","keys":null}` + "\n",
		"path as id":            strings.Replace(string(good), ids[1].ID, "../../etc/passwd", -1),
		"unknown key":           strings.Replace(string(good), ids[1].ID, strings.Repeat("0", 64), -1),
		"huge":                  strings.Repeat(" ", maxRing+1),
	} {
		t.Run(name, func(t *testing.T) {
			if data == string(good) {
				t.Fatalf("%s changes nothing", name)
			}
			if err := os.WriteFile(r.path(ringFile), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := OpenRing(r.dir); err == nil {
				t.Error("opened")
			}
			if _, err := r.Signer(); err == nil {
				t.Error("signs")
			}
		})
	}
	if err := os.WriteFile(r.path(ringFile), good, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.publicPath(ids[1].ID), freshSigner(t).Public().PEM(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRing(r.dir); err == nil || !strings.Contains(err.Error(), "does not hold key") {
		t.Errorf("another public key under the name: %v", err)
	}
}

func TestRingSwappedPrivateKey(t *testing.T) {
	r := testRing(t)
	_, private, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.privatePath(r.Keys()[0].ID), private, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Signer(); err == nil || !strings.Contains(err.Error(), "does not belong") {
		t.Errorf("got %v", err)
	}
}
