package check

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sotto-dp/sotto/prompt"
)

// TestShotsAreTheFirst: --shots leaves the beginning of a set, in its order.
func TestShotsAreTheFirst(t *testing.T) {
	task, err := prompt.Find("agnews")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demos.csv")
	if err := os.WriteFile(path, []byte("text,label\none,World\ntwo,Sports\nthree,Business\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for shots, want := range map[int][]prompt.Example{
		0: {{Input: "one", Output: "World"}, {Input: "two", Output: "Sports"}, {Input: "three", Output: "Business"}},
		2: {{Input: "one", Output: "World"}, {Input: "two", Output: "Sports"}},
	} {
		if sets, err := readSets([]string{path}, task, shots); err != nil || !reflect.DeepEqual(sets[0].Examples, want) {
			t.Errorf("%d shots: %+v, %v", shots, sets, err)
		}
	}
}
