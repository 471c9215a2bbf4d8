package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/internal/sys/bounded"
)

// hubMetadata is the hub's metadata of a file.
type hubMetadata struct {
	commit string
	sha256 string
	bytes  int64
}

// hub queries Hugging Face about files, before they are fetched.
type hub struct {
	client *http.Client
	token  string
	pause  time.Duration // first wait before trying again
	note   func(format string, args ...any)
}

func newHub(client *http.Client, token string, pause time.Duration, note func(string, ...any)) *hub {
	own := *client
	// What the hub says of a file is in the head of the redirect to it. What it redirects
	// to has an ETag of its own, which is another hash.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &hub{client: &own, token: token, pause: pause, note: note}
}

// HubError reports why the hub returned no metadata of a file.
type HubError struct {
	// File as users name it.
	File string
	Err  error
	// Unreachable: the hub was not reached, or is in trouble.
	Unreachable bool
}

func (e *HubError) Error() string {
	text := fmt.Sprintf("cannot pull %s: %v", e.File, e.Err)
	if e.Unreachable {
		text += "; run the command again when the network works, or fetch the file on another machine and name its path where a model is named"
	}
	return text
}

func (e *HubError) Unwrap() error { return e.Err }

// ask queries the metadata of a file. It retries while that may help.
func (h *hub) ask(ctx context.Context, f hubFile) (hubMetadata, error) {
	for try := 1; ; try++ {
		found, err := h.askOnce(ctx, f)
		if err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			return hubMetadata{}, ctx.Err()
		}
		var answered *hubRefusal
		if errors.As(err, &answered) {
			err = h.explain(ctx, f, answered)
		}
		if answered != nil || is[*hubMismatch](err) {
			return hubMetadata{}, &HubError{File: f.String(), Err: err}
		}
		if is[permanentError](err) || try == tries {
			return hubMetadata{}, &HubError{File: f.String(), Err: err, Unreachable: true}
		}
		h.note("Hugging Face: %v; trying again", err)
		pause(ctx, h.pause, try, err)
	}
}

// hubMismatch: the server does not speak the hub's protocol, or has no hash.
type hubMismatch struct{ error }

func (e *hubMismatch) Unwrap() error { return e.error }

func mismatch(format string, args ...any) error { return &hubMismatch{fmt.Errorf(format, args...)} }

// hubRefusal is an answer other than success, with the hub's error code.
type hubRefusal struct {
	status int
	text   string
	code   string // X-Error-Code
}

func (e *hubRefusal) Error() string { return "the hub answered " + e.text }

// maxRedirects is the maximal number of redirects within the hub.
const maxRedirects = 5

func (h *hub) askOnce(ctx context.Context, f hubFile) (hubMetadata, error) {
	address, err := url.Parse(hubAddress(f))
	if err != nil {
		return hubMetadata{}, permanentError{fmt.Errorf("%s is not an address", endpointVariable)}
	}
	for range maxRedirects {
		r, err := h.do(ctx, http.MethodHead, address)
		if err != nil {
			return hubMetadata{}, err
		}
		r.Body.Close()
		redirect := r.StatusCode >= 300 && r.StatusCode < 400
		if redirect && r.Header.Get("X-Linked-Etag") == "" {
			// A repository that was renamed, or another address of the hub.
			next, err := r.Location()
			if err != nil || address.Scheme == "https" && next.Scheme != "https" {
				return hubMetadata{}, mismatch("the server redirects to an address that will not do")
			}
			address = next
			continue
		}
		if !redirect && r.StatusCode != http.StatusOK {
			return hubMetadata{}, h.responseError(r)
		}
		return h.read(ctx, f, r)
	}
	return hubMetadata{}, mismatch("the server redirects again and again")
}

// read takes what is published from the head of an answer; what it lacks, from the list
// of the repository's files.
func (h *hub) read(ctx context.Context, f hubFile, r *http.Response) (hubMetadata, error) {
	p := hubMetadata{commit: r.Header.Get("X-Repo-Commit")}
	if !hubCommit.MatchString(p.commit) {
		return p, mismatch("the server does not say which commit it is of: is it Hugging Face? (%s names another server)", endpointVariable)
	}
	if hubCommit.MatchString(f.revision) && p.commit != f.revision {
		return p, mismatch("the hub answered with commit %s instead of %s", p.commit, f.revision)
	}
	if tag := strings.Trim(strings.TrimPrefix(r.Header.Get("X-Linked-Etag"), "W/"), `"`); hexHash.MatchString(tag) {
		p.sha256 = tag
	}
	p.bytes, _ = strconv.ParseInt(r.Header.Get("X-Linked-Size"), 10, 64)
	if p.sha256 != "" && p.bytes > 0 {
		return p, nil
	}
	files, err := h.tree(ctx, f.at(p.commit), path.Dir(f.path))
	if err != nil {
		return p, err
	}
	for _, file := range files {
		if file.Path == f.path && hexHash.MatchString(file.LFS.OID) && file.LFS.Size > 0 {
			p.sha256, p.bytes = file.LFS.OID, file.LFS.Size
			return p, nil
		}
	}
	return p, mismatch("the hub publishes no SHA-256 for this file, so that nobody can say whether what comes is it; with --sha256 and one from someone you trust, pull %s", hubAddress(f))
}

// treeFile is a line of the list of a repository's files.
type treeFile struct {
	Path string `json:"path"`
	// OID is git's name of the content.
	OID string `json:"oid"`
	LFS struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// tree lists the files of a folder of a repository; with "" those of all folders.
func (h *hub) tree(ctx context.Context, f hubFile, folder string) ([]treeFile, error) {
	where := hubEndpoint() + "/api/models/" + f.repository + "/tree/" + cmp.Or(f.revision, mainRevision)
	switch folder {
	case "":
		where += "?recursive=true"
	case ".":
	default:
		where += "/" + escapePath(folder)
	}
	address, err := url.Parse(where)
	if err != nil {
		return nil, permanentError{fmt.Errorf("%s is not an address", endpointVariable)}
	}
	r, err := h.do(ctx, http.MethodGet, address)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, h.responseError(r)
	}
	data, err := bounded.Read(r.Body, 4*bounded.Small)
	if err != nil {
		return nil, err
	}
	var files []treeFile
	if err := json.Unmarshal(data, &files); err != nil {
		return nil, mismatch("the list of the repository's files cannot be read")
	}
	return files, nil
}

func (h *hub) do(ctx context.Context, method string, address *url.URL) (*http.Response, error) {
	request, err := newRequest(ctx, method, address.String(), h.token)
	if err != nil {
		return nil, err
	}
	r, err := h.client.Do(request)
	if err != nil {
		return nil, classify(err)
	}
	return r, nil
}

// responseError returns the error of an answer: one that may pass, or the hub's decision.
func (h *hub) responseError(r *http.Response) error {
	if err := statusError(r); !is[permanentError](err) {
		return err
	}
	return &hubRefusal{r.StatusCode, r.Status, r.Header.Get("X-Error-Code")}
}

// explain explains an answer and what to do. The hub hides repositories that a user may not
// see: it answers 401 for these and for those that are not there.
func (h *hub) explain(ctx context.Context, f hubFile, e *hubRefusal) error {
	page := hubEndpoint() + "/" + f.repository
	switch {
	case e.code == "GatedRepo" || e.status == http.StatusForbidden:
		text := fmt.Sprintf("%s is open to those alone who accepted its terms (%s): accept them at %s", f.repository, e.text, page)
		if h.token == "" {
			return fmt.Errorf("%s, then set %s to a token of your account", text, tokenVariable)
		}
		return fmt.Errorf("%s with the account whose token %s holds, and see that the token may read it", text, tokenVariable)
	case e.status == http.StatusUnauthorized && h.token == "":
		return fmt.Errorf("there is no public repository %s (%s): check how it is written; if it is private, set %s to a token of your account", f.repository, e.text, tokenVariable)
	case e.status == http.StatusUnauthorized:
		return fmt.Errorf("the hub does not take the token in %s, or there is no repository %s for it (%s): make a new token in the hub's settings, or check how the repository is written", tokenVariable, f.repository, e.text)
	case e.code == "RevisionNotFound":
		return fmt.Errorf("%s has no revision %q (%s): look at %s/tree/main", f.repository, f.revision, e.text, page)
	case e.status == http.StatusNotFound && e.code != "RepoNotFound":
		return fmt.Errorf("%s has no file %s (%s)%s", f.repository, f.path, e.text, h.offers(ctx, f))
	case e.status == http.StatusNotFound:
		return fmt.Errorf("there is no repository %s (%s): check how it is written, upper and lower case too", f.repository, e.text)
	}
	return e
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]*\.gguf$`)

// offers lists the files of a repository that can be pulled, for a message.
func (h *hub) offers(ctx context.Context, f hubFile) string {
	files, err := h.tree(ctx, f, "")
	if err != nil {
		return ""
	}
	var names []string
	for _, file := range files {
		if plainPath.MatchString(file.Path) && !hubSplit.MatchString(file.Path) {
			names = append(names, file.Path)
		}
	}
	if len(names) == 0 {
		return ": it has no GGUF file in one piece, and no sentence encoder (model.safetensors with 1_Pooling/config.json); look for a repository whose name ends with GGUF"
	}
	slices.Sort(names)
	const maxNames = 20
	more := ""
	if n := len(names) - maxNames; n > 0 {
		names, more = names[:maxNames], fmt.Sprintf(" and %d others", n)
	}
	return ": it has " + strings.Join(names, ", ") + more
}
