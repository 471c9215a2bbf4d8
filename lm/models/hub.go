package models

import (
	"cmp"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/sotto-dp/sotto/internal/sys/machine"
)

// Environment variables that Hugging Face's own tools read, too.
const (
	endpointVariable = "HF_ENDPOINT"
	tokenVariable    = "HF_TOKEN"
)

const publicHub = "https://huggingface.co"

// hubEndpoint returns the hub to ask: HF_ENDPOINT, or the public one.
func hubEndpoint() string {
	return cmp.Or(strings.TrimRight(os.Getenv(endpointVariable), "/"), publicHub)
}

// mainRevision is the branch that is meant where none is named.
const mainRevision = "main"

// hubFile is a file of a repository on Hugging Face.
type hubFile struct {
	repository, path string
	// revision is a branch, a tag or a commit, "" for the main branch.
	revision string
}

// hubAddress returns the address of a file on the hub.
func hubAddress(f hubFile) string {
	return hubEndpoint() + "/" + f.repository + "/resolve/" + cmp.Or(f.revision, mainRevision) + "/" + escapePath(f.path)
}

func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// String is how users name the file.
func (f hubFile) String() string {
	s := "hf:" + f.repository
	if f.revision != "" && f.revision != mainRevision {
		s += "@" + f.revision
	}
	return s + "/" + f.path
}

func (f hubFile) at(revision string) hubFile {
	f.revision = revision
	return f
}

var (
	hubWord   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	hubCommit = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hubSplit  = regexp.MustCompile(`-[0-9]{5}-of-[0-9]{5}\.gguf$`)
)

const hubForm = "hf:OWNER/REPOSITORY/FILE.gguf, or hf:OWNER/REPOSITORY@REVISION/FILE.gguf"

// parseHub reads the name of a file on the hub: hf:OWNER/REPOSITORY[@REVISION]/FILE, or
// the address of its page or download. ok is false for what is no such name. Without a
// file, path is "".
func parseHub(name string) (f hubFile, ok bool, err error) {
	if rest, named := strings.CutPrefix(name, "hf:"); named {
		f, err = parseHubParts(strings.Split(strings.TrimPrefix(rest, "//"), "/"))
		return f, true, err
	}
	for _, hub := range []string{hubEndpoint(), publicHub, "https://hf.co"} {
		rest, there := strings.CutPrefix(name, hub+"/")
		if !there {
			continue
		}
		rest, _, _ = strings.Cut(rest, "?")
		parts := strings.Split(rest, "/")
		if len(parts) < 5 || parts[2] != "resolve" && parts[2] != "blob" {
			return hubFile{}, false, nil
		}
		for i, part := range parts {
			if parts[i], err = url.PathUnescape(part); err != nil {
				return hubFile{}, true, refuse("%q is not the address of a file: %v", name, err)
			}
		}
		f, err = parseHubParts(append([]string{parts[0], parts[1] + "@" + parts[3]}, parts[4:]...))
		return f, true, err
	}
	return hubFile{}, false, nil
}

func parseHubParts(parts []string) (hubFile, error) {
	if len(parts) < 2 {
		return hubFile{}, refuse("a file on Hugging Face is named %s", hubForm)
	}
	repository, revision, given := strings.Cut(parts[1], "@")
	for _, word := range []string{parts[0], repository} {
		if !hubWord.MatchString(word) {
			return hubFile{}, refuse("%q is not the name of an owner or a repository: a file on Hugging Face is named %s", word, hubForm)
		}
	}
	if given && !hubWord.MatchString(revision) {
		return hubFile{}, refuse("%q is not a revision: give a branch, a tag or a commit, without a slash", revision)
	}
	f := hubFile{repository: parts[0] + "/" + repository, path: strings.Join(parts[2:], "/"), revision: revision}
	if f.path != "" && !fs.ValidPath(f.path) || strings.ContainsAny(f.path, "?#\\") {
		return hubFile{}, refuse("%q is not the path of a file in a repository", f.path)
	}
	return f, nil
}

// check refuses what cannot be pulled, before the hub is asked.
func (f hubFile) check() error {
	switch {
	case !strings.HasSuffix(f.path, ".gguf"):
		return refuse("%q is not a GGUF file: the engine runs these, and encoders of sentences, which are named by their repository alone", f.path)
	case hubSplit.MatchString(f.path):
		return refuse("%s is one part of a model that was split, and the engine reads a model from one file: choose another quantisation, or a repository that has it in one piece", f.path)
	}
	return nil
}

// hubToken returns the user's token for the hub, "" if there is none. A wrong one is not
// repeated in the error.
func hubToken() (string, error) {
	token := strings.TrimSpace(os.Getenv(tokenVariable))
	for _, c := range token {
		if c <= ' ' || c > '~' {
			return "", refuse("%s is not a token: it has characters that none has; copy it again from the hub's settings", tokenVariable)
		}
	}
	return token, nil
}

// maySend reports whether a token may go to an address: to the hub itself, encrypted
// unless it is on this machine.
func maySend(address *url.URL) bool {
	hub, err := url.Parse(hubEndpoint())
	if err != nil || !sameOrigin(hub, address) {
		return false
	}
	return address.Scheme == "https" || machine.Loopback(address.Hostname())
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }
