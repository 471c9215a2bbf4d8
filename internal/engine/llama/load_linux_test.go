package llama

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
	"github.com/sotto-dp/sotto/lm/models"
)

// resident returns how many bytes of a mapped file are in memory.
func resident(t *testing.T, path string) (bytes int64) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip("this system does not say what is in memory: ", err)
	}
	defer f.Close()
	of := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if name, _, _ := strings.Cut(line, " "); !strings.HasSuffix(name, ":") { // a mapping begins
			of = strings.HasSuffix(line, path)
		}
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kilobytes); of && n == 1 {
			bytes += kilobytes << 10
		}
	}
	return bytes
}

// TestLoadingKeepsLittleOfTheFile: what was packed is not in memory twice.
func TestLoadingKeepsLittleOfTheFile(t *testing.T) {
	path, _, err := models.Find(models.Default)
	if err != nil {
		t.Fatalf("%v; run: go run ./cmd/sotto model pull", err)
	}
	f, err := gguf.Open(path)
	expect.NoError(t, err)
	defer f.Close()
	c, err := readConfig(f)
	expect.NoError(t, err)
	_, err = loadWeights(f, c)
	expect.NoError(t, err)
	expect.Max(t, "bytes of the file in memory after loading", resident(t, path), f.Size()/4)
	sum := uint32(0)
	for _, tensor := range f.Tensors() {
		sum = crc32.Update(sum, crc32.IEEETable, tensor.Data)
	}
	expect.True(t, "the file has something in it", sum != 0)
	expect.Min(t, "bytes of the file in memory after reading all of it", resident(t, path), f.Size()/2)
}
