package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/sys/fault"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/privacy/accountant"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

type verifyOptions struct {
	keys   []string
	strict bool
}

func newVerifyCommand(p *cli.Program) *cobra.Command {
	var opt verifyOptions
	cmd := &cobra.Command{
		Use:   "verify DIR [--key FILE]…",
		Short: "Check a certificate against its files",
		Long: `Checks the certificate of a released directory: that a trusted key signed it,
that the files are those that were signed, that the claim is complete, and
that its ε is no smaller than what its events cost, which is computed again.

The keys of every --key are trusted: a file of public keys in PEM form, or a
trust file, which also lists keys that expired or were revoked. Without --key
your own key and trust file count (--keys, SOTTO_KEYS, your configuration; see
"sotto keys").

Files of the directory that the certificate does not cover may hold anything.
They are named, above the checks; with --strict they are a failure.` + ui.JSONKeys(verifyResult{}, "key and what follows are there where the signature holds; recomputed is the verifier's own ε."),
		Example: `  sotto verify release/ --key signer.pub.pem
  sotto verify release/ --key signer.pub.pem --key trust.json --strict --json`,
		Args: cli.Takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd, p, args[0], opt) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&opt.keys, "key", nil, "trust the public keys in `FILE`, in PEM form or as a trust file; may be repeated")
	f.BoolVar(&opt.strict, "strict", false, "take warnings as failures")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return cmd
}

type verifyResult struct {
	*certificate.Report
	// unsigned says that there is no certificate, and why.
	unsigned string
}

func (r *verifyResult) Print(p *ui.Page) {
	if r.unsigned != "" {
		p.Line("%s", p.Paint(ui.Red, r.unsigned))
		return
	}
	headline := p.Paint(ui.Green, "the certificate holds")
	if !r.OK {
		headline = p.Paint(ui.Red, fmt.Sprintf("the certificate does NOT hold: %d of %d checks failed", len(r.Failures()), len(r.Checks)))
	}
	if c := r.Predicate; c != nil && r.OK {
		headline += fmt.Sprintf(": ε ≤ %s at δ = %s, %s, per %s", ui.AtMost(c.Epsilon.Upper), ui.Whole(c.Delta), c.Adjacency, c.Unit)
	}
	p.Line("%s\n", headline)
	r.unlisted(p)
	t := ui.NewTable("check", "", "detail")
	for _, c := range r.Checks {
		conclusion := "ok"
		if c.Warning {
			conclusion = "WARN"
		}
		if !c.OK {
			conclusion = "FAIL"
		}
		t.Add(c.Name, conclusion, strings.ReplaceAll(c.Detail, "\n", "; "))
	}
	t.Paint = func(row, column int) string {
		switch c := r.Checks[row]; {
		case column != 1:
			return ""
		case !c.OK:
			return ui.Red
		case c.Warning:
			return ui.Yellow
		}
		return ui.Green
	}
	p.Table(t)
	if r.Predicate != nil && r.OK {
		p.Line("\n  It rests on:")
		p.List(r.Predicate.Assumptions)
	}
}

// namedFiles is how many files without a certificate are named to people; programs get
// all of them.
const namedFiles = 20

// unlisted names what the certificate does not cover.
func (r *verifyResult) unlisted(p *ui.Page) {
	n := len(r.Unlisted)
	if n == 0 {
		return
	}
	what := map[bool]string{true: "This file is", false: fmt.Sprintf("These %d files are", n)}[n == 1]
	p.Line("%s", p.Paint(ui.Yellow, "  "+what+" NOT covered: nobody signed what is in there, and it may be private."))
	for _, name := range r.Unlisted[:min(n, namedFiles)] {
		p.Line("  - %s", strconv.Quote(name))
	}
	if n > namedFiles {
		p.Line("    and %d more", n-namedFiles)
	}
	p.Line("")
}

func runVerify(cmd *cobra.Command, p *cli.Program, dir string, opt verifyOptions) error {
	trust, err := p.Trust(opt.keys)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil {
		return cli.Usage("release directory: %w; name the folder that \"sotto synth\" or another verb wrote with --out", err)
	} else if !info.IsDir() {
		return cli.Usage("%s is a file: give the directory that holds %s", dir, certificate.FileName)
	}
	report, err := fault.Await(cmd.Context(), func() (*certificate.Report, error) {
		return certificate.VerifyDir(dir, certificate.VerifyOptions{Trust: trust, Evaluator: accountant.Auto{}, Strict: opt.strict})
	})
	if err != nil {
		return err
	}
	r := &verifyResult{report, unsigned(dir)}
	if err := p.Emit(r); err != nil || report.OK {
		return err
	}
	if r.unsigned != "" {
		return ui.Reported("there is no certificate to check")
	}
	return ui.Reported("%d of %d checks failed", len(report.Failures()), len(report.Checks))
}

// unsigned says of a folder without a certificate what it is; "" for others.
func unsigned(dir string) string {
	if cli.Exists(filepath.Join(dir, certificate.FileName)) {
		return ""
	}
	// A folder without examples is none of ours, or broken: neither is marked.
	marked, err := worth.Marked(filepath.Join(dir, "demos.jsonl"))
	if err != nil { // a prompt without examples says so itself
		set, failed := worth.ReadSet(dir, prompt.Task{})
		marked, err = set.NotPrivate, failed
	}
	if err == nil && marked {
		return fmt.Sprintf("%s is NOT PRIVATE: what is in it says so itself, and nobody signed it", dir)
	}
	return fmt.Sprintf("%s has no %s: name the folder that \"sotto synth\" or another verb wrote", dir, certificate.FileName)
}
