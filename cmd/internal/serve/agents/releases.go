package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// What is looked through, and what is returned, at most.
const (
	maxEntries  = 20_000
	maxReleases = 200
	maxDepth    = 8
	maxExamples = 100
)

type releasesArguments struct {
	Name string `json:"name,omitempty" jsonschema:"the name of a release, as listed; returns its instruction and examples too"`
}

// release is a release as agents see it. What is wrong with one is a list of checks: nothing
// that nobody signed is repeated.
type release struct {
	Name      string            `json:"name"`
	Holds     bool              `json:"certificate_holds"`
	Failed    []string          `json:"failed_checks,omitempty"`
	Method    string            `json:"method,omitempty"`
	Epsilon   float64           `json:"epsilon,omitempty"`
	Delta     float64           `json:"delta,omitempty"`
	Adjacency privacy.Adjacency `json:"adjacency,omitempty"`
	Unit      privacy.Unit      `json:"unit,omitempty"`
	Created   string            `json:"created,omitempty"`
	Files     []string          `json:"files,omitempty"`
	// Prompt and Examples are of the release that was asked for.
	Prompt   json.RawMessage   `json:"prompt,omitempty"`
	Examples []json.RawMessage `json:"examples,omitempty"`
	More     int               `json:"more_examples,omitempty"`
}

type releases struct {
	Releases []release       `json:"releases"`
	Routes   []gateway.About `json:"routes,omitempty"`
	// Partial says that there are more folders than were looked through.
	Partial bool `json:"partial,omitempty"`
}

// list finds releases and routes.
func (s *Server) list(ctx context.Context, in releasesArguments) (any, error) {
	out := releases{Releases: []release{}}
	if s.root != nil {
		trust, err := s.Trust()
		if err != nil {
			return nil, err
		}
		names, partial, err := s.find(ctx)
		if err != nil {
			return nil, err
		}
		out.Partial = partial
		for _, name := range names {
			if in.Name != "" && name != in.Name {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r, err := s.read(name, trust, in.Name != "")
			if err != nil {
				return nil, err
			}
			out.Releases = append(out.Releases, r)
		}
	}
	if in.Name != "" && len(out.Releases) == 0 {
		return nil, &toolError{"there is no release of that name: call releases without a name for those that there are"}
	}
	if s.asks == nil || in.Name != "" {
		return out, nil
	}
	var err error
	out.Routes, err = s.asks.routes(ctx)
	return out, err
}

// find returns the folders with a certificate. Links are not followed.
func (s *Server) find(ctx context.Context) (names []string, partial bool, err error) {
	seen := 0
	err = fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // a folder that cannot be read is none of ours
			return fs.SkipDir
		case seen > maxEntries || len(names) == maxReleases:
			partial = true
			return fs.SkipAll
		case d.IsDir() && strings.Count(name, "/") >= maxDepth:
			return fs.SkipDir
		case d.Type().IsRegular() && path.Base(name) == certificate.FileName:
			names = append(names, path.Dir(name))
		}
		return nil
	})
	return names, partial, err
}

// release checks a release, and reads what was released if that is wanted.
func (s *Server) read(name string, trust *certificate.Trust, texts bool) (r release, err error) {
	r.Name = name
	dir, err := s.root.OpenRoot(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = dir.Close() }() // it was read only
	files := dir.FS()
	report, err := certificate.Verify(files, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}})
	if err != nil {
		return r, err
	}
	if r.Holds = report.OK; !r.Holds {
		for _, c := range report.Failures() {
			r.Failed = append(r.Failed, c.Name)
		}
		return r, nil
	}
	p := report.Predicate
	r.Method, r.Epsilon, r.Delta, r.Adjacency, r.Unit, r.Created = p.Method, p.Epsilon.Upper, p.Delta, p.Adjacency, p.Unit, p.Created.Format(time.DateOnly)
	for _, f := range report.Subjects {
		r.Files = append(r.Files, f.Name)
	}
	if texts {
		r.readTexts(files, report)
	}
	return r, nil
}

// read reads the instruction and the examples, of files that the certificate covers.
func (r *release) readTexts(files fs.FS, report *certificate.Report) {
	if data, err := report.ReadFile(files, "prompt.json"); err == nil && json.Valid(data) {
		r.Prompt = data
	}
	data, err := report.ReadFile(files, "demos.jsonl")
	if err != nil {
		return // it is no release of texts
	}
	for line := range bytes.Lines(data) {
		switch line = bytes.TrimSpace(line); {
		case !json.Valid(line):
		case len(r.Examples) == maxExamples:
			r.More++
		default:
			r.Examples = append(r.Examples, line)
		}
	}
}
