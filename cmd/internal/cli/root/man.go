package root

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
)

func newManCommand(p *cli.Program) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "man [VERB]… [--out DIR]",
		Short: "The manual pages of this program",
		Long: `Prints the manual page of a verb, or of sotto itself, for "man -l -". With --out
it writes the pages of all verbs into a directory, as packages install them.` +
			ui.JSONKeys(manResult{}, "With --out: "+ui.KeyList(pagesResult{})+"."),
		Example: `  sotto man ledger grant > grant.1
  sotto man --out /usr/local/share/man/man1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if out != "" {
				if len(args) > 0 {
					return cli.Usage("--out writes the pages of all verbs: leave out %q, or --out", strings.Join(args, " "))
				}
				return runManAll(p, root, out)
			}
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownVerb(about, strings.Join(rest, " "))
			}
			return p.Emit(&manResult{manName(about), manPage(about, thisVersion())})
		},
	}
	cli.AddDir(cmd, &out, "out", "write all pages into this `DIR`, which is made if it is not there")
	return cmd
}

type manResult struct {
	Name string `json:"name"`
	Page string `json:"page"`
}

func (r *manResult) Print(p *ui.Page) { p.File(r.Page) }

type pagesResult struct {
	Out   string   `json:"out"`
	Files []string `json:"files"`
}

func (r *pagesResult) Print(p *ui.Page) {
	p.Line("%d pages are in %s; read one with: man -l %s", len(r.Files), r.Out, filepath.Join(r.Out, r.Files[0]))
}

func runManAll(p *cli.Program, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	r, built := &pagesResult{Out: dir}, thisVersion()
	var write func(*cobra.Command) error
	write = func(cmd *cobra.Command) error {
		name := manName(cmd) + ".1"
		r.Files = append(r.Files, name)
		err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(cmd, built)), 0o644)
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && err == nil {
				err = write(c)
			}
		}
		return err
	}
	if err := write(root); errors.Is(err, fs.ErrPermission) {
		return cli.Usage("manual pages: %w; name a folder that you may write with --out", err)
	} else if err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	return p.Emit(r)
}

// manName is what man calls the page of a command.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }
