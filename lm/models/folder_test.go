package models

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/engine/bert/berttest"
	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/expect"
)

const folderOnHub = "hf:someone/tiny-GGUF"

// encoderHub has a sentence encoder's folder.
func encoderHub(t *testing.T) (*fakeHub, map[string][]byte) {
	t.Helper()
	files := berttest.New(1, 32, true).Files("F16")
	h := newFakeHub(t, make([]byte, 100))
	h.files[firstCommit] = maps.Clone(files)
	h.files[firstCommit]["onnx/model.onnx"], h.files[firstCommit]["tokenizer.json"] = []byte("left out"), []byte("left out too")
	h.cdn.data = files[folderWeights]
	return h, files
}

// TestFolderPull: all files of an encoder are fetched, checked and pinned together, with its prefix.
func TestFolderPull(t *testing.T) {
	h, files := encoderHub(t)
	o := quick(t)
	o.Prefix, o.As = "query: ", "tiny"
	t.Setenv("SOTTO_MODELS", o.Dir)
	r, err := Pull(t.Context(), folderOnHub, o)
	expect.NoError(t, err)
	expect.Equal(t, "path", r.Path, filepath.Join(o.Dir, "tiny", folderWeights))
	expect.Equal(t, "kind", r.Kind, Encoder)
	expect.Len(t, "files", r.Files, len(files))
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(o.Dir, "tiny", name))
		expect.NoError(t, err)
		expect.True(t, name+" is the hub's", slices.Equal(got, want))
	}
	expect.Equal(t, "source of the pin", r.Pin.Source(), folderOnHub+"@"+firstCommit)
	for _, name := range []string{"tiny", folderOnHub, folderOnHub + "/", r.Pin.Source(), r.Path, filepath.Dir(r.Path)} {
		path, e, err := Find(name)
		expect.NoError(t, err)
		expect.Equal(t, "path of "+name, path, r.Path)
		expect.Equal(t, "name and prefix of "+name, e.Name+", "+e.Prefix, "tiny, query: ")
	}
	all, err := List()
	expect.NoError(t, err)
	expect.Len(t, "models", all, len(catalogue)+1)
	expect.Equal(t, "kind in the list", all[len(all)-1].Kind, Encoder)
	expect.Equal(t, "state in the list", all[len(all)-1].State, Present)

	// Again: it is there, also where the hub is not. The prefix is a setting.
	sent := len(h.cdn.ranges())
	o.As, o.Prefix = "", ""
	again, err := Pull(t.Context(), "tiny", o)
	expect.NoError(t, err)
	expect.Equal(t, "source", again.Source, Cache)
	expect.Equal(t, "prefix", again.Pin.Prefix, "query: ")
	o.Prefix = "passage: "
	again, err = Pull(t.Context(), "tiny", o)
	expect.NoError(t, err)
	expect.Equal(t, "another prefix", again.Pin.Prefix, "passage: ")
	expect.Equal(t, "times that weights were sent", len(h.cdn.ranges()), sent)
	h.Close()
	again, err = Pull(t.Context(), "tiny", o)
	expect.NoError(t, err)
	expect.Equal(t, "source without a hub", again.Source, Cache)

	// A file beside the weights is checked too.
	write(t, filepath.Join(o.Dir, "tiny", "1_Pooling", "config.json"), []byte("{}"))
	_, _, err = Find("tiny")
	expect.As[*HashError](t, err)
	expect.NoError(t, os.Remove(filepath.Join(o.Dir, "tiny", "vocab.txt")))
	_, _, err = Find("tiny")
	expect.As[*MissingError](t, err)
}

// TestFolderChanges: another file beside the same weights is another model.
func TestFolderChanges(t *testing.T) {
	h, files := encoderHub(t)
	o := quick(t)
	_, err := Pull(t.Context(), folderOnHub, o)
	expect.NoError(t, err)
	h.files[secondCommit] = maps.Clone(files)
	h.files[secondCommit]["1_Pooling/config.json"] = []byte(`{"pooling_mode_mean_tokens": true}`)
	_, err = Pull(t.Context(), folderOnHub, o)
	expect.As[*ChangedError](t, err)
	o.AcceptChange = true
	r, err := Pull(t.Context(), folderOnHub, o)
	expect.NoError(t, err)
	expect.Equal(t, "commit", r.Pin.Commit, secondCommit)
	got, err := os.ReadFile(filepath.Join(filepath.Dir(r.Path), "1_Pooling", "config.json"))
	expect.NoError(t, err)
	expect.Equal(t, "pooling", string(got), `{"pooling_mode_mean_tokens": true}`)
}

func TestFoldersAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(h *fakeHub)
		want   string
	}{
		"no pooling": {func(h *fakeHub) {
			delete(h.files[firstCommit], "modules.json")
			delete(h.files[firstCommit], "1_Pooling/config.json")
		}, "no sentence encoder"},
		"no configuration":         {func(h *fakeHub) { delete(h.files[firstCommit], "config.json") }, "no config.json"},
		"another file than listed": {func(h *fakeHub) { h.swapped = map[string]string{"config.json": "{}"} }, "another file than its list has"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := encoderHub(t)
			test.change(h)
			_, err := Pull(t.Context(), folderOnHub, quick(t))
			expect.Contains(t, "error", fmt.Sprint(err), test.want)
		})
	}
}

// TestEncodersInGGUF: what a file says of its architecture makes it an encoder.
func TestEncodersInGGUF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tiny.gguf")
	expect.NoError(t, berttest.New(2, 32, false).WriteGGUF(path, gguf.F16))
	data, err := os.ReadFile(path)
	expect.NoError(t, err)
	newFakeHub(t, data)
	o := quick(t)
	o.Prefix = "query: "
	t.Setenv("SOTTO_MODELS", o.Dir)
	r, err := Pull(t.Context(), tinyOnHub, o)
	expect.NoError(t, err)
	expect.Equal(t, "kind and prefix", string(r.Pin.Kind)+", "+r.Pin.Prefix, "sentence encoder, query: ")
	_, e, err := Find("tiny-q4")
	expect.NoError(t, err)
	expect.Equal(t, "kind by name", e.Kind, Encoder)
	_, e, err = Find(path)
	expect.NoError(t, err)
	expect.Equal(t, "kind by path", e.Kind, Encoder)

	newFakeHub(t, content(3, 1000))
	o.Dir = t.TempDir()
	_, err = Pull(t.Context(), tinyOnHub, o)
	expect.True(t, "a prefix for what is no encoder is refused", is[*RequestError](err), err)
}
