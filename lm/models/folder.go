package models

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/engine/gguf"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// Files of a sentence encoder's folder, as sentence-transformers writes it.
const (
	folderWeights    = "model.safetensors"
	folderShape      = "config.json"
	folderVocabulary = "vocab.txt"
	folderTokenizer  = "tokenizer.json"
)

// folderFiles are those beside the weights that say what an encoder does with a text.
var folderFiles = []string{
	folderShape, folderVocabulary, folderTokenizer, "tokenizer_config.json", "modules.json", "1_Pooling/config.json",
	"sentence_bert_config.json", "config_sentence_transformers.json",
}

// isFolder reports whether a directory is a sentence encoder's folder.
func isFolder(dir string) bool {
	for _, name := range []string{folderWeights, folderShape} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// kindOf returns the kind of a file, by what it says of itself.
func kindOf(path string) Kind {
	if strings.HasSuffix(path, ".safetensors") {
		return Encoder
	}
	f, err := gguf.Open(path)
	if err != nil {
		return Language // it is opened as one, and refused then
	}
	defer f.Close()
	if kind, err := f.Metadata().String("general.architecture"); err == nil && strings.Contains(kind, "bert") {
		return Encoder
	}
	return Language
}

// isFolder reports whether a repository is a sentence encoder's folder, as its pin or its list of files says.
func (h *hub) isFolder(ctx context.Context, f hubFile, pins []Pin) bool {
	if pin, known := findPin(pins, f.String()); known {
		return pin.folder()
	}
	files, err := h.tree(ctx, f, "")
	has := func(name string) bool {
		return err == nil && slices.ContainsFunc(files, func(file treeFile) bool { return file.Path == name })
	}
	return has(folderWeights) && (has("modules.json") || has("1_Pooling/config.json"))
}

// askFolder queries the metadata of the files beside the weights of an encoder. The hub publishes git's hash for small
// files, which are read here to have a SHA-256 to pin.
func (h *hub) askFolder(ctx context.Context, f hubFile) ([]PinnedFile, error) {
	listed, err := h.tree(ctx, f, "")
	if err != nil {
		return nil, err
	}
	files := map[string]treeFile{}
	for _, file := range listed {
		files[file.Path] = file
	}
	if _, ok := files[folderShape]; !ok {
		return nil, mismatch("the repository has no %s: it is no sentence encoder that runs here", folderShape)
	}
	if _, ok := files[folderVocabulary]; ok {
		delete(files, folderTokenizer) // which says the same
	}
	var pinned []PinnedFile
	for _, name := range folderFiles {
		file, ok := files[name]
		if !ok {
			continue
		}
		f.path = name
		p, err := h.hash(ctx, f, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pinned = append(pinned, p)
	}
	return pinned, nil
}

// hash returns the size and SHA-256 of a file of the repository's list.
func (h *hub) hash(ctx context.Context, f hubFile, listed treeFile) (PinnedFile, error) {
	if hexHash.MatchString(listed.LFS.OID) && listed.LFS.Size > 0 {
		return PinnedFile{f.path, listed.LFS.Size, listed.LFS.OID}, nil
	}
	data, err := h.content(ctx, f)
	if err != nil {
		return PinnedFile{}, err
	}
	// Git names content by it. What is pinned is a SHA-256.
	name := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(data), data))
	if hex.EncodeToString(name[:]) != listed.OID {
		return PinnedFile{}, mismatch("the hub sent another file than its list has")
	}
	return PinnedFile{f.path, int64(len(data)), fmt.Sprintf("%x", sha256.Sum256(data))}, nil
}

// content fetches a small file.
func (h *hub) content(ctx context.Context, f hubFile) ([]byte, error) {
	address, err := url.Parse(hubAddress(f))
	if err != nil {
		return nil, permanentError{fmt.Errorf("%s is not an address", endpointVariable)}
	}
	request, err := newRequest(ctx, http.MethodGet, address.String(), h.token)
	if err != nil {
		return nil, err
	}
	own := *h.client
	own.CheckRedirect = keepToken
	r, err := own.Do(request)
	if err != nil {
		return nil, classify(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, h.responseError(r)
	}
	return bounded.Read(io.Reader(r.Body), 64*bounded.Small)
}
