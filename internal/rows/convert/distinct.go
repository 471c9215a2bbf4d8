package convert

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// distinct refuses files of one data set that may hold the same records: in several formats, under
// several names, or as copies of each other. Those that cannot be opened are left to anyone who reads
// them.
func distinct(dir string, files []string) error {
	if len(files) > maxShards {
		return refuse("the folder has more than %d files: name one", maxShards)
	}
	sizes := map[int64][]string{}
	infos := map[string]os.FileInfo{}
	for _, path := range files {
		if a, b := written(files[0]), written(path); a != b {
			return refuse("the folder has records in several formats, %s and %s, which may be the same ones: name one file, or leave one format there", show(dir, files[0]), show(dir, path))
		}
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if _, again := infos[path]; again {
			return twice(dir, path, path)
		}
		infos[path] = info
		sizes[info.Size()] = append(sizes[info.Size()], path)
	}
	for size, same := range sizes {
		if len(same) < 2 {
			continue
		}
		hashes := map[[sha256.Size]byte]string{}
		for _, path := range same {
			if i := slices.IndexFunc(same, func(other string) bool { return os.SameFile(infos[other], infos[path]) }); same[i] != path {
				return twice(dir, same[i], path)
			}
			if size == 0 {
				continue
			}
			hash, err := hashOf(path)
			if err != nil {
				continue
			}
			if other, ok := hashes[hash]; ok {
				return twice(dir, other, path)
			}
			hashes[hash] = path
		}
	}
	return nil
}

func twice(dir, a, b string) error {
	return refuse("the folder has the same records twice, in %s and %s: leave one of them there", show(dir, a), show(dir, b))
}

// written is how a file is written, by all that its name says: .csv.gz is not .csv.
func written(path string) string {
	name := strings.ToLower(filepath.Base(path))
	ext := Ext(path)
	return name[strings.LastIndex(name, ext):]
}

// show is a file's name within its folder.
func show(dir, path string) string {
	if inner, err := filepath.Rel(dir, path); err == nil {
		return filepath.ToSlash(inner)
	}
	return filepath.Base(path)
}

func hashOf(path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
